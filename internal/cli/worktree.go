package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git/program"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

func runGit(ctx context.Context, env []string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Env = append(os.Environ(), env...)
	out, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(failed.Stderr) > 0 {
		err = errors.New(text.OneLine(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

func checkGitProgram(ctx context.Context, who string) error {
	_, err := program.Version(ctx)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return problem.WithHint(fmt.Errorf("%s needs the git command, which is not installed", who), "install Git 2.30 or newer, and run it again")
	case err != nil:
		return fmt.Errorf("%s needs the git command: %w", who, err)
	}
	return nil
}

func (in *input) noteUncommitted(ctx context.Context) {
	changed, err := runGit(ctx, []string{"GIT_OPTIONAL_LOCKS=0"}, "status", "--porcelain", "--untracked-files=all")
	if err != nil || changed == "" {
		return
	}
	n, verb := strings.Count(changed, "\n")+1, "are"
	if n == 1 {
		verb = "is"
	}
	fmt.Fprintf(in.stderr(), "fairlead: note: %s %s not included (--worktree includes them)\n", text.Count(n, "uncommitted file"), verb)
}

// commitWorktree returns a commit of the work tree with uncommitted files, but not
// ignored ones. No branch names it, so Git removes it eventually.
func commitWorktree(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "fairlead-worktree-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	root, err := runGit(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", problem.WithHint(err, "--worktree needs a clone of the control plane with a work tree")
	}
	env := []string{
		"GIT_INDEX_FILE=" + filepath.Join(dir, "index"),
		"GIT_AUTHOR_NAME=fairlead", "GIT_AUTHOR_EMAIL=fairlead@localhost", "GIT_COMMITTER_NAME=fairlead", "GIT_COMMITTER_EMAIL=fairlead@localhost",
	}
	if _, err := runGit(ctx, env, "-C", root, "add", "--all"); err != nil {
		return "", err
	}
	tree, err := runGit(ctx, env, "write-tree")
	if err != nil {
		return "", err
	}
	commit := []string{"commit-tree", tree, "-m", "The work tree"}
	if head, err := runGit(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		commit = append(commit, "-p", head)
	}
	return runGit(ctx, env, commit...)
}

// findWorktree returns the work tree as a commit, and the environment of the
// checked-out branch or its origin; "" for the base or a change of it.
func (in *input) findWorktree(ctx context.Context) (environment, commit string, err error) {
	found, _, err := in.source.Environments(ctx)
	if err != nil {
		return "", "", err
	}
	branch, _ := runGit(ctx, nil, "symbolic-ref", "--quiet", "--short", "HEAD") // detached in a job
	for _, e := range found {
		if e.ControlPlane.Branch == branch {
			environment = e.Name
		}
	}
	if environment == "" && len(found) > 0 {
		head, _ := runGit(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD") // possibly no commit yet
		names, err := in.findNearest(ctx, head)
		if err == nil {
			environment, err = in.chooseNearest(names)
		}
		if err != nil {
			return "", "", err
		}
	}
	commit, err = commitWorktree(ctx)
	return environment, commit, err
}

func (in *input) useWorktree(ctx context.Context) error {
	environment, commit, err := in.findWorktree(ctx)
	switch {
	case err != nil:
		return err
	case environment == "" && in.options.Base != "" || environment != "" && in.options.EnvironmentRevision != "":
		return usageErrorf("leave one of them out", "--worktree is what is checked out here, and a revision of it is named too")
	case environment == "":
		in.options.Base = commit
	case in.environment != "" && in.environment != environment:
		return usageErrorf("check out the branch of "+in.environment+", or the base", "what is checked out here is environment %s, not %s", environment, in.environment)
	default:
		in.environment, in.options.EnvironmentRevision = environment, commit
	}
	in.source, err = source.Open(ctx, in.options)
	return err
}

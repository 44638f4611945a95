package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

type side struct {
	argument    string // as written
	folder      bool
	environment string // "" for all
	revisions   source.Revisions

	in       *input       // reads a revision; nil for a folder
	known    []string     // its environments
	problems problem.List // of the files that declare them
}

// withWorktree returns the work tree as B, and as A by default what is checked out.
func (d *diffCommand) withWorktree(ctx context.Context, args []string) ([]string, error) {
	if !d.input.worktree {
		return args, nil
	}
	committed := d.input
	committed.worktree, committed.stderr = false, func() io.Writer { return io.Discard }
	if err := committed.openSource(ctx); err != nil {
		return nil, err
	}
	environment, commit, err := committed.findWorktree(ctx)
	if err != nil {
		return nil, err
	}
	d.input.worktree, d.input.stderr = false, committed.stderr
	prefix := ""
	if environment != "" {
		prefix = environment + "@"
	}
	if len(args) == 0 {
		args = []string{prefix + "HEAD"}
		d.committed = args[0]
	}
	d.worktree = prefix + commit
	return []string{args[0], d.worktree}, nil
}

func (d *diffCommand) worktreeTitle(ctx context.Context, from string) string {
	if d.worktree == "" {
		return ""
	}
	revision := from[strings.LastIndex(from, "@")+1:]
	if id, err := runGit(ctx, nil, "rev-parse", "--verify", "--quiet", "--short=7", revision+"^{commit}"); err == nil && !strings.HasPrefix(revision, id) {
		return fmt.Sprintf("Your working tree, compared with %s (commit %s)", from, id)
	}
	return "Your working tree, compared with " + from
}

func (d *diffCommand) label(s side) string {
	if s.argument == d.worktree && d.worktree != "" {
		return "your working tree"
	}
	return s.argument
}

// openSides resolves the arguments. Two folders need no control plane.
func (d *diffCommand) openSides(ctx context.Context, from, to string) (sides [2]side, err error) {
	sides = [2]side{{argument: from, folder: isFolder(from)}, {argument: to, folder: isFolder(to)}}
	for _, s := range sides {
		if s.folder {
			if err := cmp.Or(checkNotBare(s.argument), checkSingleEnvironment(s.argument)); err != nil {
				return sides, err
			}
		}
	}
	if sides[0].folder && sides[1].folder && !d.nameBranch(ctx, sides) {
		return sides, nil
	}
	if d.input.isPlain() {
		revision := from
		if sides[0].folder {
			revision = to
		}
		return sides, usageErrorf("a revision needs --control-plane: plain folders have none", "%s is not a folder", revision)
	}
	if err := d.input.openSource(ctx); err != nil {
		return sides, err
	}
	environments, _, err := d.input.source.Environments(ctx)
	if err != nil {
		return sides, err
	}
	for i := range sides {
		if err := d.preferBranch(ctx, &sides[i], environments); err != nil {
			return sides, err
		}
		if sides[i].folder {
			continue
		}
		sides[i].resolveRevision(environments)
		if err := d.openSide(ctx, &sides[i]); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// nameBranch reports whether one of two folders has the name of a branch, if a control
// plane exists.
func (d *diffCommand) nameBranch(ctx context.Context, sides [2]side) bool {
	quiet := d.input
	if _, err := runGit(ctx, nil, "rev-parse", "--git-dir"); quiet.isPlain() || quiet.options.ControlPlane == "" && err != nil {
		return false
	}
	quiet.stderr = func() io.Writer { return io.Discard }
	if quiet.openSource(ctx) != nil {
		return false
	}
	environments, _, err := quiet.source.Environments(ctx)
	base, failed := quiet.source.Base(ctx)
	if err != nil || failed != nil || base.Repo == nil {
		return false
	}
	return slices.ContainsFunc(sides[:], func(s side) bool {
		s.resolveRevision(environments)
		commit, err := base.Repo.FindBranch(s.argument)
		return !isPath(s.argument) && (s.environment != "" || err == nil && commit != "")
	})
}

func isPath(argument string) bool {
	return filepath.IsAbs(argument) || strings.HasPrefix(argument, ".") || strings.HasSuffix(argument, "/")
}

// preferBranch resolves a name of both a folder and a branch: an environment's branch
// wins, another branch is an error.
func (d *diffCommand) preferBranch(ctx context.Context, s *side, environments []*model.Environment) error {
	if !s.folder || isPath(s.argument) {
		return nil
	}
	named := side{argument: s.argument}
	named.resolveRevision(environments)
	if named.environment != "" {
		fmt.Fprintf(d.app.stderr, "fairlead: note: %s is the branch of the environment %s here; ./%s is the folder\n", s.argument, named.environment, s.argument)
		s.folder = false
		return nil
	}
	base, err := d.input.source.Base(ctx)
	if err != nil || base.Repo == nil {
		return err
	}
	commit, err := base.Repo.FindBranch(s.argument)
	if err == nil && commit != "" {
		err = usageErrorf("write ./"+s.argument+" for the folder, or refs/heads/"+s.argument+" for the branch", "%s is a folder here, and a branch of the control plane", s.argument)
	}
	return err
}

// openSide lists a revision's environments, which may differ from the base's current
// ones.
func (d *diffCommand) openSide(ctx context.Context, s *side) (err error) {
	s.in = &d.input
	switch {
	case s.environment == "" && d.input.options.BaseDir != "":
		return usageErrorf("leave --base-dir out, or compare revisions of an environment", "%s is a revision of the base, and --base-dir stands for the base", s.argument)
	case s.environment != "" && d.input.options.EnvironmentDir != "":
		return usageErrorf("leave --environment-dir out, or compare revisions of the base",
			"%s is a revision of environment %s, and --environment-dir stands for it", s.argument, s.environment)
	case s.environment == "":
		other := d.input
		other.options.Base = s.argument
		other.source, err = source.Open(ctx, other.options)
		if err != nil {
			return err
		}
		s.in = &other
	}
	s.known, s.problems, err = s.in.listEnvironments(ctx)
	if err == nil && s.environment == "" && len(s.known) == 0 {
		err = d.checkBase(ctx, s)
	}
	return err
}

// checkBase returns an error for a revision of an environment's branch that was taken
// for the base: everything would seem removed.
func (d *diffCommand) checkBase(ctx context.Context, s *side) error {
	base, err := d.input.source.Base(ctx)
	if err != nil || base.Repo == nil {
		return err
	}
	commit, err := base.Repo.Resolve(s.argument)
	if err != nil {
		return err
	}
	names, err := d.input.findNearest(ctx, commit)
	if err != nil || names == nil {
		return err
	}
	return usageErrorf(fmt.Sprintf("write %s@%s", names[0], s.argument), "%s is no revision of the base, but was made from the branch of %s", s.argument, text.Join(names, " and "))
}

// noteAhead notes base commits without an environment, unless a side is a base
// revision.
func (d *diffCommand) noteAhead(ctx context.Context, sides [2]side) {
	environment := sides[0].environment
	if sides[0].folder {
		environment = sides[1].environment
	}
	if environment == "" || !sides[1].folder && sides[1].environment == "" {
		return
	}
	d.input.noteAhead(ctx, func(base string) string { return fmt.Sprintf("fairlead diff %s %s shows it", environment, base) })
}

func (d *diffCommand) noteBranches(ctx context.Context, sides [2]side) {
	if !d.input.isClone {
		return
	}
	base, err := d.input.source.Base(ctx)
	if err != nil {
		return
	}
	isBase, environments := false, []string(nil)
	for i, s := range sides {
		switch name, _, _ := strings.Cut(s.argument, "~"); {
		case s.folder:
		case d.worktree != "" && i == 0 && s.argument == d.committed: // users see what they have not pushed
			isBase = s.environment == ""
			if !isBase {
				environments = []string{s.environment}
			}
		case s.environment == "":
			isBase = isBase || name == base.Branch
		case !strings.Contains(name, "@") && !strings.HasPrefix(name, "origin/") && !slices.Contains(environments, s.environment):
			environments = append(environments, s.environment)
		}
	}
	noteBranches(ctx, d.app.stderr, d.input.source, branchNote{isBase: isBase, withCommits: d.committed != ""}, environments)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func checkSingleEnvironment(dir string) error {
	r, err := readRecord(dir)
	if err != nil {
		return err
	}
	var folders []string
	for _, e := range r.Environments {
		if e.Folder != "" {
			folders = append(folders, filepath.Join(dir, e.Folder))
		}
	}
	if folders == nil {
		return nil
	}
	return usageErrorf("name the folder of one: "+text.Join(folders, " or "), "%s holds the folders of several environments", dir)
}

func checkNotBare(dir string) error {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return nil
		}
	}
	return usageErrorf("name a checkout of its branch: git clone --branch BRANCH "+dir+" FOLDER", "%s is a bare Git repository, and has no files to compare", dir)
}

func (s *side) resolveRevision(environments []*model.Environment) {
	branch := strings.TrimPrefix(strings.TrimPrefix(s.argument, "refs/heads/"), "origin/")
	if i := strings.IndexAny(branch, "^~"); i >= 0 {
		branch = branch[:i]
	}
	env, revision, ofEnvironment := strings.Cut(s.argument, "@")
	for _, e := range environments {
		switch {
		case ofEnvironment && e.Name == env && revision != "":
			s.environment, s.revisions = env, source.Revisions{Environment: revision}
			return
		case e.ControlPlane.Branch == branch:
			s.environment, s.revisions = e.Name, source.Revisions{Environment: s.argument}
			return
		}
	}
}

func (d *diffCommand) comparedEnvironments(sides [2]side) ([]string, error) {
	if sides[0].folder && sides[1].folder {
		return []string{d.input.environment}, nil
	}
	var names []string
	var problems problem.List
	for _, s := range sides {
		for _, name := range s.known {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		problems = append(problems, s.problems...)
		if s.environment == "" {
			continue
		}
		if d.input.environment != "" && d.input.environment != s.environment {
			return nil, usageErrorf("compare revisions of one environment", "%s is of environment %s, not of %s", s.argument, s.environment, d.input.environment)
		}
		d.input.environment = s.environment
	}
	if d.input.environment != "" && d.input.options.EnvironmentDir != "" {
		return []string{d.input.environment}, nil
	}
	names, err := d.input.chooseEnvironments(names, problems.Sorted())
	if err == nil && len(names) > 1 && (sides[0].folder || sides[1].folder) {
		return nil, newAmbiguityError(names)
	}
	return names, err
}

func (d *diffCommand) renderSides(ctx context.Context, environment string, sides [2]side) (both [2]source.Rendered, err error) {
	both, err = d.readSides(ctx, environment, sides)
	if err != nil || !both[0].Problems.Stops() && !both[1].Problems.Stops() {
		return both, err
	}
	d.printProblems(environment, sides, both)
	if both[0].Problems.StopsEnvironment() || both[1].Problems.StopsEnvironment() {
		err = &problemsError{summary: environment + " cannot be planned: there are problems"}
	}
	return both, err
}

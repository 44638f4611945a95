package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/schemas"
)

// Repositories describes the two repositories that a new user starts with.
type Repositories struct {
	Content scaffold.Options
	// Credentials returns what is called before each connection to a location; nil connects
	// anonymously.
	Credentials func(location string) func(context.Context) (git.Credentials, error)
	Author      git.Signature
	When        time.Time
}

// ErrNotEmpty means that a repository has branches already.
var ErrNotEmpty = errors.New("it is not empty")

// Create fills the control plane and the GitOps repository: bare repositories on this
// machine, which it creates, or empty ones on a server. If one of them has branches,
// neither is written to.
func (r Repositories) Create(ctx context.Context) error {
	schema, ok := schemas.Schema("all")
	if !ok {
		return errors.New("there is no schema of all kinds")
	}
	r.Content.Schema = schema
	controlPlane, err := scaffold.ControlPlaneBranches(r.Content)
	if err != nil {
		return err
	}
	gitOps, err := scaffold.GitOpsBranches(r.Content)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fairlead-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mirrors := &repos.Mirrors{Dir: dir, Options: func(location string) (o git.RemoteOptions, err error) {
		if r.Credentials != nil {
			o.Credentials = r.Credentials(location)
		}
		return o, nil
	}}
	var ready []*git.Remote
	for _, place := range []string{r.Content.ControlPlane, r.Content.GitOps} {
		remote, err := openEmpty(ctx, mirrors, place)
		if err != nil {
			return err
		}
		ready = append(ready, remote)
	}
	controlPlane, err = r.setPromotedCommit(controlPlane)
	if err != nil {
		return err
	}
	for i, branches := range [][]scaffold.Branch{controlPlane, gitOps} {
		if err := r.pushBranches(ctx, ready[i], branches); err != nil {
			return err
		}
	}
	return nil
}

// openEmpty opens a repository that has no branches. On this machine it creates it first.
func openEmpty(ctx context.Context, mirrors *repos.Mirrors, place string) (*git.Remote, error) {
	if !giturl.IsRemote(place) {
		if err := makeBare(ctx, giturl.LocalPath(place)); err != nil {
			return nil, err
		}
	}
	remote, err := mirrors.Fetch(ctx, place)
	if err != nil {
		return nil, err
	}
	branches, err := remote.Mirror().Refs("refs/heads/")
	if err == nil && len(branches) > 0 {
		err = fmt.Errorf("%s: %w", giturl.Redact(place), ErrNotEmpty)
	}
	return remote, err
}

// makeBare creates a bare repository, unless there is one.
func makeBare(ctx context.Context, path string) error {
	entries, err := os.ReadDir(path)
	switch {
	case err == nil && len(entries) > 0:
		if _, err := git.Open(path); err != nil {
			return fmt.Errorf("%s: %w", path, ErrNotEmpty)
		}
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	full, err := filepath.Abs(path) // a path that begins with - is no option then
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "git", "init", "--quiet", "--bare", "--initial-branch=main", full)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git init %s: %w: %s", path, err, out)
	}
	return nil
}

// setPromotedCommit writes the first commit of main into the record of each environment but the
// first, so that later commits get to them by promotion only. branches[0] is main, and
// branches[1] the first environment.
func (r Repositories) setPromotedCommit(branches []scaffold.Branch) ([]scaffold.Branch, error) {
	first, err := r.initialCommit(branches[0]).ID()
	if err != nil {
		return nil, err
	}
	branches = slices.Clone(branches)
	for i, b := range branches[2:] {
		files := slices.Clone(b.Files.Entries())
		for at, e := range files {
			if e.Name == promote.RecordFile {
				text, err := promote.SetCommit(e.Data, first)
				if err != nil {
					return nil, fmt.Errorf("%s of %s: %w", e.Name, b.Name, err)
				}
				files[at] = tree.File(e.Name, text)
			}
		}
		branches[2+i].Files = tree.FromEntries(files)
	}
	return branches, nil
}

func (r Repositories) initialCommit(b scaffold.Branch) git.Commit {
	return git.Commit{Tree: b.Files, Author: r.Author, When: r.When, Message: b.Message + "\n"}
}

func (r Repositories) pushBranches(ctx context.Context, remote *git.Remote, branches []scaffold.Branch) error {
	var commits []git.Commit
	for _, b := range branches {
		commits = append(commits, r.initialCommit(b))
	}
	pack, err := remote.Write(ctx, commits...)
	if err != nil {
		return err
	}
	var updates []git.RefUpdate
	for i, b := range branches {
		updates = append(updates, git.RefUpdate{Ref: "refs/heads/" + b.Name, New: pack.Commits[i]})
	}
	return remote.Push(ctx, pack, updates...)
}

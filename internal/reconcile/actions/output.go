package actions

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Output is how far the output of an environment has got with a commit of the base.
type Output struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	From   string `json:"from"` // the branch that it is proposed from
	// Merged reports whether the branch holds the output of the commit.
	Merged bool `json:"merged"`
	// Pull is the open pull request with it; nil if there is none yet.
	Pull *Pull `json:"pull,omitempty"`

	commit string // at the head of the pull request
	forge  forge.Forge
}

// FindOutput searches for the output of an environment that was rendered from a commit of the base:
// on its branch, or in an open pull request. open opens the forge of a repository; nil searches the
// branch only.
func (d *Session) FindOutput(ctx context.Context, environment, commit string, open func(*git.Remote, string) (forge.Forge, error)) (Output, error) {
	to, err := d.source.OutputOf(ctx, environment)
	if err != nil || to == nil {
		return Output{}, err
	}
	o := Output{Repo: giturl.Redact(to.Repo), Branch: to.Branch, From: d.options.Prefix + environment}
	place := to.Repo
	if other, ok := d.targets[giturl.Normalize(to.Repo)]; ok {
		place = other
	}
	remote, err := d.options.Mirrors.Fetch(ctx, place)
	if err != nil {
		return o, err
	}
	repo, folder := remote.Mirror(), publish.CleanFolder(to.Path)
	head, err := repo.Branch(to.Branch)
	if err == nil {
		o.Merged, err = isRenderedFrom(repo, head, folder, environment, commit)
	}
	if err != nil && !errors.Is(err, git.ErrNoRevision) || o.Merged || open == nil {
		return o, err
	}
	o.forge, err = open(remote, place)
	if err != nil {
		return o, err
	}
	pulls, err := o.forge.Pulls(ctx, o.From, to.Branch)
	if err != nil {
		return o, fmt.Errorf("look for the pull request from %s: %w", o.From, err)
	}
	for _, p := range pulls {
		if p.State != forge.Open {
			continue
		}
		brings, err := isRenderedFrom(repo, p.Commit, folder, environment, commit)
		if err != nil && !errors.Is(err, git.ErrNoRevision) {
			return o, err
		}
		if brings && err == nil {
			o.Pull, o.commit = &Pull{p.Number, p.URL, p.State}, p.Commit
		}
	}
	return o, nil
}

// Merge merges the pull request of an output as it was found.
func (o *Output) Merge(ctx context.Context) error {
	merger, ok := o.forge.(forge.Merger)
	if !ok || o.Pull == nil {
		return problem.Refusef("merge it there", "the forge of %s leaves merging to people", o.Repo)
	}
	if err := merger.MergePull(ctx, o.Pull.Number, o.commit); err != nil {
		return err
	}
	o.Merged, o.Pull.State = true, forge.Merged
	return nil
}

// isRenderedFrom reports whether a commit holds the output of an environment that was rendered from
// a commit of the base.
func isRenderedFrom(repo *git.Repository, at, folder, environment, commit string) (bool, error) {
	if _, err := repo.Commit(at); err != nil {
		return false, fmt.Errorf("%s: %w", at, git.ErrNoRevision)
	}
	return git.InspectTree(repo, at, func(t tree.Tree) (bool, error) { return isRecordedOutput(t.Sub(folder), environment, commit), nil })
}

// isRecordedOutput reports whether the record in a folder names a commit of the base, and the files
// beside it are those that it names.
func isRecordedOutput(folder tree.Tree, environment, commit string) bool {
	e, ok := folder.Lookup(publish.RecordFile)
	if !ok || e.IsDir() {
		return false
	}
	r, err := publish.ReadRecord(e.Data)
	if err != nil {
		return false
	}
	for _, w := range r.Environments {
		for _, from := range w.From {
			if w.Environment == environment && from.Layer == "base" && from.Commit == commit {
				return w.IsIn(folder)
			}
		}
	}
	return false
}

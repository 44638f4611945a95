package actions

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
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

// FindOutput searches for the output of an environment that was rendered from a base:
// on its branch, or in an open pull request. open opens the forge of a repository; nil searches the
// branch only.
func (d *Session) FindOutput(ctx context.Context, environment string, base lane.Composition, open func(*git.Remote, string) (forge.Forge, error)) (Output, error) {
	to, remote, err := d.fetchOutput(ctx, environment)
	if to == nil {
		return Output{}, err
	}
	o := Output{Repo: giturl.Redact(to.Repo), Branch: to.Branch, From: d.options.Prefix + environment}
	if err != nil {
		return o, err
	}
	repo, folder := remote.Mirror(), publish.CleanFolder(to.Path)
	head, err := repo.Branch(to.Branch)
	if err == nil {
		o.Merged, err = promoter.IsOutputOf(nil, repo, head, folder, environment, base)
	}
	if err != nil && !errors.Is(err, git.ErrNoRevision) || o.Merged || open == nil {
		return o, err
	}
	o.forge, err = open(remote, giturl.Relocate(to.Repo, d.options.Map))
	if err != nil {
		return o, err
	}
	pulls, err := o.forge.Pulls(ctx, o.From, to.Branch)
	if err != nil {
		return o, fmt.Errorf("look for the pull request from %s: %w", o.From, err)
	}
	for _, p := range pulls {
		if _, err := repo.Commit(p.Commit); err != nil || p.State != forge.Open { // it was not fetched
			continue
		}
		brings, err := promoter.IsOutputOf(nil, repo, p.Commit, folder, environment, base)
		if err != nil {
			return o, err
		}
		if brings {
			o.Pull, o.commit = &Pull{p.Number, p.URL, p.State}, p.Commit
		}
	}
	return o, nil
}

// fetchOutput fetches the repository that the output of an environment goes to. The location is nil
// if the environment has none.
func (d *Session) fetchOutput(ctx context.Context, environment string) (*model.GitOpsRepo, *git.Remote, error) {
	to, err := d.source.OutputOf(ctx, environment)
	if err != nil || to == nil {
		return nil, nil, err
	}
	remote, err := d.options.Mirrors.Fetch(ctx, giturl.Relocate(to.Repo, d.options.Map))
	return to, remote, err
}

// findOutput fetches the repository of an environment's output, and returns its folder and the head of its branch; "" if
// there is none.
func findOutput(ctx context.Context, d *Session, environment string) (repo *git.Repository, folder, head string, err error) {
	to, remote, err := d.fetchOutput(ctx, environment)
	if err != nil || to == nil {
		return nil, "", "", err
	}
	head, err = remote.Mirror().FindBranch(to.Branch)
	return remote.Mirror(), publish.CleanFolder(to.Path), head, err
}

// FindOutputBranch fetches the repository that the output of an environment goes to, and returns where it
// is there, and false if it goes nowhere.
func (d *Session) FindOutputBranch(ctx context.Context, environment string) (wanted.Branch, bool, error) {
	to, remote, err := d.fetchOutput(ctx, environment)
	if err != nil || to == nil {
		return wanted.Branch{}, false, err
	}
	return wanted.Branch{Environment: environment, Repo: giturl.Redact(to.Repo), Branch: to.Branch, Folder: publish.CleanFolder(to.Path), Remote: remote}, true, nil
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

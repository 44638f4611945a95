package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
)

// MergePull moves the base branch to the pull request's commit and removes its branch. commit is
// the reviewed commit; the error is ErrMoved if the result would differ.
func (p *Plain) MergePull(ctx context.Context, number int, commit string) error {
	return p.MergePullFor(ctx, number, commit, "")
}

// MergePullFor is MergePull, and records the reason.
func (p *Plain) MergePullFor(ctx context.Context, number int, commit, reason string) error {
	r, pull, err := p.loadPull(number)
	if err != nil {
		return err
	}
	if pull.State != Open {
		return fmt.Errorf("pull request %d is %s", number, pull.State)
	}
	if commit != "" && commit != pull.Commit {
		return fmt.Errorf("pull request %d is at %s: %w", number, pull.Commit, ErrMoved)
	}
	base, err := p.store.remote.Mirror().Branch(pull.Base)
	if err != nil {
		return err
	}
	straight, err := p.store.remote.Mirror().Contains(pull.Commit, base)
	if err != nil {
		return err
	}
	to := pull.Commit
	if !straight {
		merge, err := p.mergeChange(pull, base)
		if err == nil {
			r.with = []git.Commit{merge}
			to, err = merge.ID()
		}
		if err != nil {
			return err
		}
	}
	pull.State = Merged
	err = p.endPull(ctx, r, pull, mergedTitle, reason,
		git.RefUpdate{Ref: "refs/heads/" + pull.Base, Old: base, New: to},
		git.RefUpdate{Ref: "refs/heads/" + pull.Head, Old: pull.Commit})
	if errors.Is(err, git.ErrStale) {
		return fmt.Errorf("pull request %d: %w", number, ErrMoved)
	}
	return err
}

// ChangeBranches begins the names of branches with people's changes, after Fairlead's prefix.
// Unlike outputs, nobody rebuilds these when the base branch moves.
const ChangeBranches = "change/"

// mergeChange merges a person's change into a base that has moved. Other pull requests, such as
// outputs, depend on the whole base and are not merged.
func (p *Plain) mergeChange(pull Pull, into string) (git.Commit, error) {
	repo := p.store.remote.Mirror()
	before, err := repo.MergeBase(into, pull.Commit)
	if err == nil && (before == "" || !strings.Contains("/"+pull.Head, "/"+ChangeBranches)) {
		err = fmt.Errorf("pull request %d was made for an older %s: %w", pull.Number, pull.Base, ErrMoved)
	}
	if err != nil {
		return git.Commit{}, err
	}
	c := git.Commit{
		Parents: []string{into, pull.Commit}, Author: p.store.author, Committer: p.store.as.Committer, Sign: p.store.as.Sign, When: p.store.now(),
		Message: p.store.addTrailers(fmt.Sprintf("Merge pull request %d: %s", pull.Number, pull.Title)),
	}
	conflicts, err := git.InspectTrees(repo, []string{before, into, pull.Commit}, func(t []tree.Tree) (conflicts []string, _ error) {
		c.Tree, conflicts = tree.Merge(t[0], t[1], t[2])
		c.Known = t[1:]
		return conflicts, nil
	})
	if err == nil && len(conflicts) > 0 {
		err = &problem.Refusal{
			Operation: fmt.Sprintf("merge pull request %d", pull.Number), Kind: ErrConflict,
			Reason: fmt.Sprintf("%s has moved since, and both have changed %s", pull.Base, text.Join(conflicts, " and ")), Advice: "close it, and run the command that opened it again",
		}
	}
	return c, err
}

// EnableAutoMerge is unsupported: nothing watches a repository without an API.
func (p *Plain) EnableAutoMerge(_ context.Context, number int, _ string) error {
	return &problem.Refusal{
		Operation: fmt.Sprintf("merge pull request %d later", number), Kind: ErrUnsupported,
		Reason: "the repository is only Git, which merges nothing by itself", Advice: "set merge to direct or to manual",
	}
}

// CancelAutoMerge does nothing.
func (p *Plain) CancelAutoMerge(context.Context, int) error { return nil }

// ReopenPull reopens a closed pull request if its branch exists. The reason may be "".
func (p *Plain) ReopenPull(ctx context.Context, number int, reason string) error {
	return p.store.retryStale(ctx, func() error {
		r, pull, err := p.loadPull(number)
		if err != nil || pull.State == Open {
			return err
		}
		if pull.State == Merged {
			return fmt.Errorf("pull request %d is merged", number)
		}
		head, err := p.store.remote.Mirror().Branch(pull.Head)
		if errors.Is(err, git.ErrNoRevision) {
			return fmt.Errorf("the branch %s of pull request %d is gone", pull.Head, number)
		}
		if err != nil {
			return err
		}
		r.files, err = pullFiles(pull.Proposal, pullHead{State: Open, Commit: head})
		if err != nil {
			return err
		}
		return p.store.writeRecord(ctx, r, withReason(reopenTitle+pull.Title, reason))
	})
}

package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

// expectedCommit returns the id of the commit that our branch is to be at. The id of a commit
// that the forge makes is known once there is one like it; "" until then.
func (w *attempt) expectedCommit(c git.Commit, head string) (string, error) {
	if w.options.Committer == nil {
		return c.ID()
	}
	if head == "" {
		return "", nil
	}
	now, err := w.repo.Commit(head)
	// Author, time and signature are the forge's, and it may change how the message ends.
	if err != nil || now.Tree != c.Tree.ID().String() || !slices.Equal(now.Parents, c.Parents) || strings.TrimSpace(now.Message) != strings.TrimSpace(c.Message) {
		return "", err
	}
	return head, nil
}

// commitTo moves our branch from head to the commit, and returns the id of the commit.
func (w *attempt) commitTo(ctx context.Context, c git.Commit, head string) (string, error) {
	if w.options.Committer == nil {
		id, err := c.ID()
		if err != nil {
			return "", err
		}
		w.options.Witness.leaveBranch(w.branchURL(), id)
		err = w.pushCommit(ctx, c, head)
		if errors.Is(err, git.ErrStale) { // so it is not our push that has moved it
			w.options.Witness.leaveBranch(w.branchURL(), head)
		}
		return id, err
	}
	for range tree.Diff(w.whole.Tree, c.Tree) { // all that the forge will read
	}
	if err := w.whole.Err(); err != nil {
		return "", err
	}
	w.options.Announce("commit to our branch")
	w.options.Witness.forgetBranch(w.branchURL()) // if it fails, it is not known whether the branch has moved
	id, err := w.options.Committer.CreateCommit(ctx, forge.Commit{
		Branch: w.ours, Old: head, Parent: w.target, Message: c.Message, Before: w.whole.Tree, Tree: c.Tree,
	})
	if errors.Is(err, forge.ErrMoved) { // another process was faster: try again
		err = fmt.Errorf("%w: %w", git.ErrStale, err)
	}
	if err != nil {
		return "", err
	}
	w.options.Witness.leaveBranch(w.branchURL(), id)
	_, err = w.options.Remote.Sync(ctx) // as it would be had we pushed it
	return id, err
}

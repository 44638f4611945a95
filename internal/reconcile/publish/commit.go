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

// expectedCommit returns the commit id for our branch; if the forge creates commits, "" until head
// is equal.
func (w *attempt) expectedCommit(c git.Commit, head string) (string, error) {
	if w.options.Committer == nil {
		return c.ID()
	}
	if head == "" {
		return "", nil
	}
	now, err := w.repo.Commit(head)
	// The forge sets author, time and signature, and may change the end of the message.
	if err != nil || now.Tree != c.Tree.ID().String() || !slices.Equal(now.Parents, c.Parents) || strings.TrimSpace(now.Message) != strings.TrimSpace(c.Message) {
		return "", err
	}
	return head, nil
}

func (w *attempt) commitTo(ctx context.Context, c git.Commit, head string) (string, error) {
	if w.options.Committer == nil {
		id, err := c.ID()
		if err != nil {
			return "", err
		}
		w.options.Witness.leaveBranch(w.branchURL(), id)
		err = w.pushCommit(ctx, c, head)
		if errors.Is(err, git.ErrStale) { // our push has not moved it
			w.options.Witness.leaveBranch(w.branchURL(), head)
		}
		return id, err
	}
	for range tree.Diff(w.whole.Tree, c.Tree) { // loads everything that the forge reads
	}
	if err := w.whole.Err(); err != nil {
		return "", err
	}
	w.options.Announce("commit to our branch")
	w.options.Witness.forgetBranch(w.branchURL()) // a failure leaves the branch unknown
	id, err := w.options.Committer.CreateCommit(ctx, forge.Commit{
		Branch: w.ours, Old: head, Parent: w.target, Message: c.Message, Before: w.whole.Tree, Tree: c.Tree,
	})
	if errors.Is(err, forge.ErrMoved) {
		err = fmt.Errorf("%w: %w", git.ErrStale, err)
	}
	if err != nil {
		return "", err
	}
	w.options.Witness.leaveBranch(w.branchURL(), id)
	_, err = w.options.Remote.Sync(ctx) // as after a push
	return id, err
}

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

// expectedCommit gives the id of the commit that our branch is to be at. The forge says that
// of a commit which it makes, so that it is "" until there is one like it.
func (w *attempt) expectedCommit(c git.Commit, head string) (string, error) {
	if w.Committer == nil {
		return c.ID()
	}
	if head == "" {
		return "", nil
	}
	now, err := w.repo.Commit(head)
	if err != nil || !isLike(now, c) {
		return "", err
	}
	return head, nil
}

// isLike reports whether a commit is as another is to be, but for author, time and
// signature. A forge may change how the message ends.
func isLike(now git.CommitInfo, c git.Commit) bool {
	return now.Tree == c.Tree.ID().String() && slices.Equal(now.Parents, c.Parents) &&
		strings.TrimSpace(now.Message) == strings.TrimSpace(c.Message)
}

// commitTo has our branch, which is at head, be at the commit, and gives its id.
func (w *attempt) commitTo(ctx context.Context, c git.Commit, head string) (string, error) {
	if w.Committer == nil {
		id, err := c.ID()
		if err != nil {
			return "", err
		}
		return id, w.pushCommit(ctx, c, head)
	}
	for range tree.Diff(w.whole.Tree, c.Tree) { // all that the forge will read
	}
	if err := w.whole.Err(); err != nil {
		return "", err
	}
	w.beforeEffect("commit to our branch")
	id, err := w.Committer.CreateCommit(ctx, forge.Commit{
		Branch: w.ours, Old: head, Parent: w.target, Message: c.Message, Before: w.whole.Tree, Tree: c.Tree,
	})
	if errors.Is(err, forge.ErrMoved) { // somebody was faster: look again
		err = fmt.Errorf("%w: %w", git.ErrStale, err)
	}
	if err != nil {
		return "", err
	}
	_, err = w.Remote.Sync(ctx) // as it would be had we pushed it
	return id, err
}

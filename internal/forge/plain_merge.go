package forge

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git"
)

// EnableAutoMerge is unsupported: nothing watches a repository that has no API.
func (p *Plain) EnableAutoMerge(_ context.Context, number int, _ string) error {
	return &problem.Refusal{
		Operation: fmt.Sprintf("merge pull request %d later", number), Kind: ErrUnsupported,
		Reason: "the repository is only Git, which merges nothing by itself", Advice: "set merge to direct or to manual",
	}
}

// CancelAutoMerge does nothing: there is nothing to cancel.
func (p *Plain) CancelAutoMerge(context.Context, int) error { return nil }

// ReopenPull opens a pull request again that was closed and not merged, if its branch is
// still there. The reason may be "".
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

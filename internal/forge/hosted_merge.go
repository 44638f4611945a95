package forge

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// MergePull merges one of our pull requests, in the way that is the repository's own, if
// it is still at commit. What is merged already stays so.
func (h *Hosted[P]) MergePull(ctx context.Context, number int, commit string) error {
	return h.MergePullFor(ctx, number, commit, "")
}

// MergePullFor is MergePull. It first writes the reason to the end of the body: the next edit of a pull request
// that is not merged then takes it away.
func (h *Hosted[P]) MergePullFor(ctx context.Context, number int, commit, reason string) error {
	p, err := h.pullToMerge(ctx, number, commit)
	if p == nil || err != nil {
		return err
	}
	if reason != "" {
		d, _ := h.parseDocument(p.Pull.Body) // it is ours
		d.MergeReason = text.OneLine(reason)
		body, err := h.formatDocument(d)
		if err != nil {
			return err
		}
		_, err = h.updatePull(ctx, "write the reason into a "+h.dialect.Pull, *p, PullChange{Body: &body})
		if err != nil {
			return err
		}
	}
	return h.calls.MergePull(ctx, p.Native, commit)
}

// EnableAutoMerge has the forge merge one of our pull requests once nothing is missing.
func (h *Hosted[P]) EnableAutoMerge(ctx context.Context, number int, commit string) error {
	p, err := h.pullToMerge(ctx, number, commit)
	if p == nil || err != nil || p.AutoMerge {
		return err
	}
	return h.calls.EnableAutoMerge(ctx, p.Native, commit)
}

// pullToMerge reads one of our pull requests that is to be merged at a commit; nil if it
// is merged.
func (h *Hosted[P]) pullToMerge(ctx context.Context, number int, commit string) (*HostedPull[P], error) {
	p, pull, _, err := h.FindPull(ctx, number)
	r := &problem.Refusal{Operation: h.operation("merge", number)}
	switch {
	case err != nil || pull.State == Merged:
		return nil, err
	case pull.State != Open:
		r.Reason, r.Kind, r.Advice = "it is closed", ErrChanged, "open it again, or let Fairlead open another one"
		return nil, r
	case pull.Commit != commit:
		r.Reason, r.Kind, r.Advice = "it is at "+Quote(pull.Commit), ErrMoved, "it will be looked at again"
		return nil, r
	}
	return &p, nil
}

// CancelAutoMerge has the forge not merge one of our pull requests any more on its own.
func (h *Hosted[P]) CancelAutoMerge(ctx context.Context, number int) error {
	p, _, _, err := h.FindPull(ctx, number)
	if err != nil || !p.AutoMerge && !h.dialect.HidesAutoMerge {
		return err
	}
	err = h.calls.CancelAutoMerge(ctx, p.Native)
	var r *problem.Refusal
	if !errors.As(err, &r) || h.dialect.HidesAutoMerge {
		return err
	}
	p, _, _, again := h.FindPull(ctx, number)
	if again == nil && !p.AutoMerge { // it was over meanwhile
		return nil
	}
	return err
}

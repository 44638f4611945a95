package forge

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// MergePull merges our pull request if it is at commit, with the repository's merge method. It does
// nothing if it is merged.
func (h *Hosted[P]) MergePull(ctx context.Context, number int, commit string) error {
	return h.MergePullFor(ctx, number, commit, "")
}

// MergePullFor is MergePull, and first adds the reason to the body. If the merge fails, the next
// edit removes the reason.
func (h *Hosted[P]) MergePullFor(ctx context.Context, number int, commit, reason string) error {
	p, err := h.pullToMerge(ctx, number, commit)
	if p == nil || err != nil {
		return err
	}
	if reason != "" {
		d, _ := h.parseDocument(p.Pull.Body)
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

// EnableAutoMerge makes the forge merge our pull request once nothing is missing.
func (h *Hosted[P]) EnableAutoMerge(ctx context.Context, number int, commit string) error {
	p, err := h.pullToMerge(ctx, number, commit)
	if p == nil || err != nil || p.AutoMerge {
		return err
	}
	return h.calls.EnableAutoMerge(ctx, p.Native, commit)
}

// pullToMerge returns nil if the pull request is merged, and an error unless it is open at commit.
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

// CancelAutoMerge stops the forge from merging our pull request by itself.
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
	if again == nil && !p.AutoMerge {
		return nil
	}
	return err
}

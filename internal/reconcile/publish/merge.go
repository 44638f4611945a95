package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

// Merge decides who merges our pull requests.
type Merge string

// The merge settings.
const (
	Manual    Merge = "manual"     // people; the default
	WhenGreen Merge = "when-green" // the forge, once all checks pass
	Direct    Merge = "direct"     // Fairlead, as soon as the forge allows it
)

func (m Merge) waitsFor() string {
	switch m {
	case WhenGreen:
		return "Its checks and reviews: the forge merges it when they pass (`merge: when-green`)."
	case Direct:
		return "Nothing but the rules of the branch: Fairlead merges it (`merge: direct`)."
	}
	return "A person, who merges it (`merge: manual`)."
}

// Apply merges a pull request at a commit, or enables auto-merge.
func (m Merge) Apply(ctx context.Context, merger forge.Merger, number int, commit string) error {
	if m == WhenGreen {
		return merger.EnableAutoMerge(ctx, number, commit)
	}
	return merger.MergePull(ctx, number, commit)
}

// mergeAdvice returns how to fix a refusal by the forge; "" for other errors.
func mergeAdvice(err error) string {
	var refusal *problem.Refusal
	switch {
	case errors.Is(err, git.ErrRefused):
		return "let the daemon's user push to the branch, or set merge to manual"
	case errors.As(err, &refusal) && refusal.Kind == nil:
		return refusal.Advice
	}
	return ""
}

// mergePull merges a pull request according to its setting. If the forge does not allow it yet, the
// result has the reason and Again.
func (w *attempt) mergePull(ctx context.Context, r Result) (Result, error) {
	if len(w.withheld) > 0 {
		return w.reportWithheld(r), nil
	}
	if w.p.Merge == "" || w.p.Merge == Manual {
		return r, nil
	}
	merger, ok := w.options.Forge.(forge.Merger)
	if !ok {
		r.LeftToPeople, r.Reason = true, fmt.Sprintf("merge is %s, and this forge leaves merging to people", w.p.Merge)
		return r, nil
	}
	if w.p.Recheck != nil {
		late, err := w.p.Recheck(ctx)
		if err != nil {
			return r, err
		}
		w.withheld = late
		if len(late) > 0 { // the next cycle updates body and auto-merge
			r = w.reportWithheld(r)
			r.Again = true
			return r, nil
		}
	}
	w.options.Announce("merge the pull request")
	err := w.p.Merge.Apply(ctx, merger, r.Pull.Number, r.Commit)
	switch {
	case errors.Is(err, forge.ErrMoved):
		return r, fmt.Errorf("%w: %w", git.ErrStale, err)
	case errors.Is(err, forge.ErrNotReady):
		r.Reason, r.Again = err.Error(), true
		var refusal *problem.Refusal
		if errors.As(err, &refusal) && refusal.Advice != "" {
			r.Reason += "; " + refusal.Advice
		}
		return r, nil
	case mergeAdvice(err) != "":
		r.LeftToPeople, r.Again = true, true
		r.Reason = fmt.Sprintf("merge is %s, and the forge does not let us: %v; %s", w.p.Merge, err, mergeAdvice(err))
		return r, nil
	case errors.Is(err, forge.ErrUnsupported):
		r.LeftToPeople, r.Reason = true, fmt.Sprintf("merge is %s: %v", w.p.Merge, err)
		return r, nil
	case err != nil:
		return r, err
	}
	if w.p.Merge == WhenGreen {
		r.Reason = "the forge merges it once nothing is missing"
		return r, nil
	}
	r.State, r.Reason = InSync, fmt.Sprintf("pull request %d was merged", r.Pull.Number)
	r.Head, err = w.options.Remote.Mirror().Branch(w.p.Branch) // a forge merges at the server, so this may be old
	return r, err
}

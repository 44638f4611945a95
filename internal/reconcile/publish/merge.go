package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

// Merge is who merges our pull requests.
type Merge string

// The ways of merging.
const (
	Manual    Merge = "manual"     // people; the default
	WhenGreen Merge = "when-green" // the forge, once nothing is missing
	Direct    Merge = "direct"     // we, as soon as the forge lets us
)

// waitsFor returns what a pull request waits for that is merged in this way.
func (m Merge) waitsFor() string {
	switch m {
	case WhenGreen:
		return "Its checks and reviews: the forge merges it when they pass (`merge: when-green`)."
	case Direct:
		return "Nothing but the rules of the branch: Fairlead merges it (`merge: direct`)."
	}
	return "A person, who merges it (`merge: manual`)."
}

// Apply merges a pull request at a commit, or has the forge do it later.
func (m Merge) Apply(ctx context.Context, merger forge.Merger, number int, commit string) error {
	if m == WhenGreen {
		return merger.EnableAutoMerge(ctx, number, commit)
	}
	return merger.MergePull(ctx, number, commit)
}

// mergeAdvice returns what people have to change so that a pull request can be merged which the
// forge refuses to merge; "" for any other error.
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

// mergePull merges a pull request as the environment wants it. What the forge does not
// allow yet is no error: the result says what is missing, and that it is to be tried
// again.
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
		if len(late) > 0 { // its text and auto-merge follow in the next cycle
			r = w.reportWithheld(r)
			r.Again = true
			return r, nil
		}
	}
	w.options.Announce("merge the pull request")
	err := w.p.Merge.Apply(ctx, merger, r.Pull.Number, r.Commit)
	switch {
	case errors.Is(err, forge.ErrMoved): // another process was faster: try again
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
	r.Head, err = w.options.Remote.Mirror().Branch(w.p.Branch) // as far as we know: a forge merges at the server
	return r, err
}

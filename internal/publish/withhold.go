package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Withholding is a reason why only a person may merge a proposal. While there is one,
// the pull request is kept up to date, and Fairlead neither merges it nor leaves
// auto-merge set, whatever the environment's merge setting is.
type Withholding struct {
	Cause  Cause
	Reason string // one sentence, for the status, the page and the top of the pull request
	Label  string // that the pull request has while this holds; "" for none
}

// Cause is why a proposal is withheld.
type Cause string

// The causes.
const (
	CauseHold     Cause = "hold"     // an operator holds the environment
	CauseFreeze   Cause = "freeze"   // a freeze covers the environment
	CauseRemovals Cause = "removals" // it removes more than its limits allow
	CauseChanges  Cause = "changes"  // it changes more than its limits allow
	CausePlace    Cause = "place"    // the output goes to a place for the first time
)

// withholdings returns all reasons why only a person may merge what is proposed: the
// caller's, and those that the change itself shows.
func (w *work) withholdings() []Withholding {
	return slices.Clone(w.p.Withheld)
}

// labels returns the labels of the pull request, sorted.
func (w *work) labels() []string {
	var labels []string
	if w.next.promotes {
		labels = append(labels, promotedLabel)
	}
	for _, h := range w.withheld {
		if h.Label != "" {
			labels = append(labels, h.Label)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// writeWithheld writes why the pull request waits for a person, above everything else.
func writeWithheld(b *strings.Builder, withheld []Withholding) {
	if len(withheld) == 0 {
		return
	}
	b.WriteString("> [!IMPORTANT]\n> Fairlead does not merge this pull request:\n")
	for _, h := range withheld {
		fmt.Fprintf(b, "> - %s\n", forge.Escape(h.Reason))
	}
	b.WriteString("\n")
}

// cancelAutoMerge takes back what an earlier proposal asked the forge for: it would
// merge the next push as well. It comes before that push.
func (w *work) cancelAutoMerge(ctx context.Context, last *forge.Pull) error {
	merger, ok := w.Forge.(forge.Merger)
	if !ok || len(w.withheld) == 0 || last == nil || last.State != forge.Open {
		return nil
	}
	w.step("cancel auto-merge")
	err := merger.CancelAutoMerge(ctx, last.Number)
	if errors.Is(err, forge.ErrUnsupported) {
		return nil
	}
	return err
}

// withhold leaves a proposal to people, and says why.
func (w *work) withhold(r Result) Result {
	var reasons []string
	for _, h := range w.withheld {
		reasons = append(reasons, h.Reason)
	}
	r.Withheld, r.Reason = w.withheld, strings.Join(reasons, "; ")
	return r
}

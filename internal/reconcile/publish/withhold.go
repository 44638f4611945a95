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
	// ChangeID names the change for fairlead approve --removals, after which this
	// does not withhold it; "" if it is not for that command to end.
	ChangeID string
}

// Cause is why a proposal is withheld.
type Cause string

// The causes.
const (
	CauseHold     Cause = "hold"     // an operator holds the environment
	CauseFreeze   Cause = "freeze"   // a freeze covers the environment
	CauseRemovals Cause = "removals" // it removes more than its limits allow
	CauseChanges  Cause = "changes"  // it changes more than its limits allow
	CauseLocation Cause = "place"    // the output goes to a place for the first time
)

// ExceededLimit returns which of the environment's limits a proposal exceeds; "" if none.
func ExceededLimit(all []Withholding) string {
	for _, w := range all {
		if w.Cause == CauseRemovals || w.Cause == CauseChanges {
			return w.Reason
		}
	}
	return ""
}

// findWithholdings returns all reasons why only a person may merge what is proposed: the
// caller's, and those that the change itself shows.
func (w *attempt) findWithholdings() []Withholding {
	all := slices.Concat(w.p.Withheld, w.excess.causes)
	switch {
	case w.first && w.p.DeletedHead != "":
		all = append(all, Withholding{Cause: CauseLocation, Reason: fmt.Sprintf(
			"branch %s was deleted: a person merges the first change, whatever merge says; %s restores what it held", w.p.Branch, w.restoreCommand())})
	case w.first && !w.p.LocationChosen:
		all = append(all, Withholding{Cause: CauseLocation, Reason: fmt.Sprintf(
			"the output of %s has not been in %s before (no %s there names it): a person merges the first change, whatever merge says",
			w.p.Environment, locationName(w.p.Branch, CleanFolder(w.p.Folder)), RecordFile)})
	}
	for _, l := range w.movedFrom {
		all = append(all, Withholding{Cause: CauseRemovals, Label: removalsLabel, Reason: fmt.Sprintf(
			"it moves the output of %s from %s to %s, and removes it there", w.p.Environment, folderName(l.folder), folderName(CleanFolder(w.p.Folder)))})
	}
	return all
}

// pullLabels returns the labels of the pull request, sorted.
func (w *attempt) pullLabels() []string {
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

// writeWaiting writes who merges the pull request, and why it waits for a person.
func (w *attempt) writeWaiting(b *strings.Builder) {
	b.WriteString("\n### Waiting for\n\n")
	if len(w.withheld) == 0 {
		fmt.Fprintf(b, "%s\n", w.p.Merge.waitsFor())
		return
	}
	b.WriteString("> [!IMPORTANT]\n> Fairlead does not merge this pull request; a person does:\n")
	for _, h := range w.withheld {
		fmt.Fprintf(b, "> - %s\n", forge.EscapeMarkdown(h.Reason))
	}
	if w.isForAcknowledgement() {
		fmt.Fprintf(b, ">\n> To acknowledge exactly this change, merge this pull request, or run\n> `%s`\n", w.acknowledgeCommand())
	}
}

// isForAcknowledgement reports whether a reason is one that a person can acknowledge.
func (w *attempt) isForAcknowledgement() bool {
	return slices.ContainsFunc(w.withheld, func(h Withholding) bool { return h.ChangeID != "" })
}

// acknowledgeCommand returns the command that acknowledges the change.
func (w *attempt) acknowledgeCommand() string {
	return fmt.Sprintf("fairlead approve %s %s --removals", shellWord(w.p.Environment), w.excess.change)
}

// cancelAutoMerge takes back what an earlier proposal asked the forge for: it would
// merge the next push as well. It comes before that push.
func (w *attempt) cancelAutoMerge(ctx context.Context, open *forge.Pull) error {
	if len(w.withheld) == 0 || open == nil {
		return nil
	}
	return w.options.cancelAutoMerge(ctx, open.Number)
}

// cancelAutoMerge has the forge not merge a pull request by itself.
func (o Options) cancelAutoMerge(ctx context.Context, number int) error {
	merger, ok := o.Forge.(forge.Merger)
	if !ok {
		return nil
	}
	o.Announce("cancel auto-merge")
	err := merger.CancelAutoMerge(ctx, number)
	if errors.Is(err, forge.ErrUnsupported) {
		return nil
	}
	return err
}

// reportWithheld leaves a proposal to people, and says why.
func (w *attempt) reportWithheld(r Result) Result {
	var reasons []string
	for _, h := range w.withheld {
		reasons = append(reasons, h.Reason)
	}
	r.Withheld, r.Reason = w.withheld, strings.Join(reasons, "; ")
	if w.isForAcknowledgement() {
		r.Reason += "; merge the pull request, or run " + w.acknowledgeCommand()
	}
	return r
}

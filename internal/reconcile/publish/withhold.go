package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// Withholding is a reason why only a person may merge a proposal. Fairlead keeps the pull request
// up to date, but neither merges it nor leaves auto-merge on.
type Withholding struct {
	Cause  Cause
	Reason string // one sentence, for status, page and pull request
	Label  string // label of the pull request; "" for none
	// PassesWaves is set if it is of a freeze that lets an advance continue.
	PassesWaves bool
	// ChangeID identifies the change for fairlead approve --removals, which ends the withholding;
	// "" if that cannot.
	ChangeID string
}

// Cause is why a proposal is withheld.
type Cause string

// The causes of a withholding.
const (
	CauseHold     Cause = "hold"
	CauseFreeze   Cause = "freeze"
	CauseRemovals Cause = "removals"
	CauseChanges  Cause = "changes"
	CauseLocation Cause = "place"   // first output to a place
	CauseContents Cause = "sources" // moved sources are being read
)

// ExceededLimit returns the exceeded limit; "" if none.
func ExceededLimit(all []Withholding) string {
	for _, w := range all {
		if w.Cause == CauseRemovals || w.Cause == CauseChanges {
			return w.Reason
		}
	}
	return ""
}

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
	if isReading(w.contents) {
		all = append(all, Withholding{Cause: CauseContents, Reason: "Fairlead reads what changes inside of moved sources, for a minute at most"})
	}
	for _, l := range w.movedFrom {
		all = append(all, Withholding{Cause: CauseRemovals, Label: removalsLabel, Reason: fmt.Sprintf(
			"it moves the output of %s from %s to %s, and removes it there", w.p.Environment, folderName(l.folder), folderName(CleanFolder(w.p.Folder)))})
	}
	return all
}

// isReading reports whether the removals inside of a source are not known yet.
func isReading(contents map[inside.Place]inside.Contents) bool {
	for _, c := range contents {
		if slices.ContainsFunc(c.Unread, func(u inside.Unread) bool { return u.Reason == inside.Pending }) {
			return true
		}
	}
	return false
}

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

func (w *attempt) isForAcknowledgement() bool {
	return slices.ContainsFunc(w.withheld, func(h Withholding) bool { return h.ChangeID != "" })
}

func (w *attempt) acknowledgeCommand() string {
	return fmt.Sprintf("fairlead approve %s %s --removals", shellWord(w.p.Environment), w.excess.change)
}

// cancelAutoMerge must come before the next push, which auto-merge would merge too.
func (w *attempt) cancelAutoMerge(ctx context.Context, open *forge.Pull) error {
	if len(w.withheld) == 0 || open == nil {
		return nil
	}
	return w.options.cancelAutoMerge(ctx, open.Number)
}

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

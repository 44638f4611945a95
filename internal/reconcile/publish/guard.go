package publish

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// removalsLabel marks a pull request that removes more than its environment's limits allow, or
// the output in a place that its environment has left.
const removalsLabel = "removals"

// excess is what of a proposal exceeds the limits of its environment. The zero excess is
// of one that does not.
type excess struct {
	causes []Withholding
	// change names the change: from what the output branch holds now to what is proposed.
	change string
}

// checkLimits finds out what of the proposal exceeds the limits, and whether a person has
// acknowledged exactly that.
func (w *attempt) checkLimits() error {
	limits := model.DefaultLimits()
	if w.p.Limits != nil {
		limits = *w.p.Limits
	}
	w.excess = w.exceededLimits(limits)
	if len(w.excess.causes) == 0 {
		return nil
	}
	change, err := w.proposedChange()
	if err != nil {
		return err
	}
	w.excess.change = change.ID()
	for i := range w.excess.causes {
		w.excess.causes[i].ChangeID = w.excess.change
	}
	if w.p.Acknowledged == nil {
		return nil
	}
	acknowledged, err := w.p.Acknowledged()
	if err == nil && change.MayMerge(acknowledged...) {
		w.excess.causes = nil
	}
	return err
}

// exceededLimits returns what of the proposal exceeds the limits.
func (w *attempt) exceededLimits(limits model.Limits) excess {
	var e excess
	opt := impact.Options{Workload: w.p.Workload}
	removals := impact.RemovalsOf(w.next.before, withoutDotFolders(w.p.Rendered), w.report, opt)
	if reasons := removals.Reasons(limits.Removals, limits.Few, limits.Last); len(reasons) > 0 {
		reason := fmt.Sprintf("it removes %s (%s)", removals, strings.Join(reasons, "; "))
		e.causes = append(e.causes, Withholding{Cause: CauseRemovals, Reason: reason, Label: removalsLabel})
	}
	changed := w.report.Assignments.Changed + w.report.Assignments.Removed
	if limits.Changes == 100 || changed == 0 || w.next.before.IsEmpty() {
		return e
	}
	before := impact.CountAssignments(withoutDotFolders(w.p.Rendered)) + w.report.Assignments.Removed - w.report.Assignments.Added
	share := impact.Share{Removed: changed, Before: before}
	if share.Exceeds(limits.Changes) {
		reason := fmt.Sprintf("it changes %d of %d assignments, and the limit is %d%%", share.Removed, share.Before, limits.Changes)
		e.causes = append(e.causes, Withholding{Cause: CauseChanges, Reason: reason})
	}
	return e
}

// maxBrought bounds how far back the output branch is looked at for who brought a record.
const maxBrought = 500

// proposedChange returns the change from what the environment's folder holds now to what is
// proposed.
func (w *attempt) proposedChange() (promote.OutputChange, error) {
	c := promote.OutputChange{
		Environment: w.p.Environment, Folder: CleanFolder(w.p.Folder), Exceeds: len(w.excess.causes) > 0,
		Before: w.next.before.ID().String(), After: withoutMetadata(w.p.Rendered).ID().String(),
	}
	if w.target == "" {
		return c, nil
	}
	brought, err := w.repo.LastChangedBy(w.target, strings.TrimPrefix(c.Folder+"/"+RecordFile, "/"), maxBrought)
	c.PreviousCommit = brought.ID
	return c, err
}

// changeTitle returns the title of the pull request and the commit. It does not depend on
// whether the change was acknowledged: the commit, and the reviews of it, stay.
func (w *attempt) changeTitle() string {
	return forge.FitTitle(w.p.Environment + ": " + w.changeSummary())
}

// Titles have at most maxTitle characters, so that Git and the lists of forges show all of them.
// With a long name of the environment, the change still has minSummary of them.
const maxTitle, minSummary = 72, 32

// changeSummary returns the change as its title says it, removals first.
func (w *attempt) changeSummary() string {
	room := max(minSummary, maxTitle-utf8.RuneCountInString(w.p.Environment+": "))
	moves := w.moveSummary()
	switch {
	case w.report.IsEmpty():
		return moves
	case moves != "":
		return moves + "; " + w.report.Title(max(minSummary, room-utf8.RuneCountInString(moves+"; ")))
	}
	return w.report.Title(room)
}

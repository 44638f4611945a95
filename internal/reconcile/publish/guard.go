package publish

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// removalsLabel marks a pull request that removes more than allowed, or the output in a previous
// place.
const removalsLabel = "removals"

// excess is what exceeds the limits; zero for nothing.
type excess struct {
	causes []Withholding
	// change identifies the change from the output branch to the proposal.
	change string
}

// checkLimits sets excess, unless someone acknowledged exactly this change.
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

func (w *attempt) exceededLimits(limits model.Limits) excess {
	var e excess
	opt := impact.Options{Workload: w.p.Workload}
	removals := impact.RemovalsOf(w.next.before, withoutDotFolders(w.p.Rendered), w.report, opt)
	if reasons := removals.Reasons(limits.Removals, limits.Few, limits.Last); len(reasons) > 0 {
		reason := fmt.Sprintf("it removes %s (%s)", removals, strings.Join(reasons, "; "))
		if removals.IsEmpty() {
			reason = fmt.Sprintf("it may remove %s (%s)", text.Join(removals.Unsure, " and "), strings.Join(reasons, "; "))
		}
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

const maxBrought = 500

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

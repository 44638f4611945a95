package history

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Deployment is a merged output with a new commit of the base.
type Deployment struct {
	Commit   string
	Merged   time.Time
	Authored time.Time // zero if unknown
}

// ListDeliveries returns an environment's deployments as deliveries, oldest first, from entries in
// the order of Sort. One has failed if it was rolled back, and arrives with the merge. A rollback
// has no lead time, because its commit is old. Actions without a merged output do not count.
func ListDeliveries(entries []Entry, deployments []Deployment, environment string) []ledger.Delivery {
	given := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		return e.Environment != environment || e.To == "" || e.Action != PromoteAction && e.Action != RollbackAction
	})
	slices.Reverse(given)
	var all []ledger.Delivery
	for i, d := range deployments {
		one := ledger.Delivery{Merged: d.Merged, Authored: d.Authored, Known: true, Slowest: -1, FirstFailed: -1}
		// Use the first remaining entry with the commit: clocks of forges may differ from ours.
		of := slices.IndexFunc(given, func(e Entry) bool { return e.To == d.Commit })
		if of >= 0 {
			if given[of].Action == RollbackAction {
				one.Authored = time.Time{}
				markTakenBack(all, deployments[:i], d.Commit)
			}
			given = given[of+1:]
		}
		all = append(all, one)
	}
	return all
}

func markTakenBack(all []ledger.Delivery, deployments []Deployment, commit string) {
	for i := len(all) - 1; i >= 0 && deployments[i].Commit != commit; i-- {
		all[i].TakenBack = true
		if !slices.ContainsFunc(deployments[:i], func(d Deployment) bool { return d.Commit == commit }) {
			break
		}
	}
}

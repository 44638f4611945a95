package history

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Deployment is a commit of the base whose output was merged for an environment that had another one.
type Deployment struct {
	Commit   string
	Merged   time.Time
	Authored time.Time // when the commit was made; zero if it is not known
}

// ListDeliveries returns the deployments of an environment, the oldest first, as deliveries of which Git knows how they
// went: one has failed if a rollback took the environment back behind it, and arrives when its output is merged. What
// a rollback deploys has no lead time, since its commit was there before. Promotions and rollbacks without an output
// that was merged do not count. Entries are in the order of Sort.
func ListDeliveries(entries []Entry, deployments []Deployment, environment string) []ledger.Delivery {
	given := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		return e.Environment != environment || e.To == "" || e.Action != PromoteAction && e.Action != RollbackAction
	})
	slices.Reverse(given)
	var all []ledger.Delivery
	for i, d := range deployments {
		one := ledger.Delivery{Merged: d.Merged, Authored: d.Authored, Known: true, Slowest: -1, FirstFailed: -1}
		// Each is of the first that is left and gave the environment its commit: the clocks of forges are not ours.
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

// markTakenBack marks the deliveries that a rollback to a commit took back: those since the environment had it, or the
// last one if that is not known.
func markTakenBack(all []ledger.Delivery, deployments []Deployment, commit string) {
	for i := len(all) - 1; i >= 0 && deployments[i].Commit != commit; i-- {
		all[i].TakenBack = true
		if !slices.ContainsFunc(deployments[:i], func(d Deployment) bool { return d.Commit == commit }) {
			break
		}
	}
}

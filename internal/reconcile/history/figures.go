package history

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// ListDeliveries returns the commits that an environment was given, by promotion or rollback, the oldest first, as
// deliveries of which Git knows how they went: one has failed if a rollback took the environment back behind it, and
// arrives when it is promoted. A rollback is a delivery without a lead time, since its commit was there before.
// Entries are in the order of Sort.
func ListDeliveries(entries []Entry, environment string) []ledger.Delivery {
	var all []ledger.Delivery
	var commits []string
	for _, e := range slices.Backward(entries) {
		if e.Environment != environment || e.To == "" || e.Action != PromoteAction && e.Action != RollbackAction {
			continue
		}
		d := ledger.Delivery{Merged: e.Time, Authored: e.Authored, Known: true, Slowest: -1, FirstFailed: -1}
		if e.Action == RollbackAction {
			d.Authored = time.Time{}
			markTakenBack(all, commits, e)
		}
		all, commits = append(all, d), append(commits, e.To)
	}
	return all
}

// markTakenBack marks the deliveries that a rollback took back: those since the environment had its commit, or the
// last one if that is not known.
func markTakenBack(all []ledger.Delivery, commits []string, rollback Entry) {
	for i := len(all) - 1; i >= 0 && commits[i] != rollback.To; i-- {
		all[i].TakenBack = true
		if !slices.Contains(commits[:i], rollback.To) {
			break
		}
	}
}

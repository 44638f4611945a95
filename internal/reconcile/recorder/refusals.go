package recorder

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

type refusalKey struct {
	day     ledger.Day
	cluster string
	reason  ledger.RefusalReason
}

// RefuseKey counts a contact with a missing or wrong key. Unknown names count together, because
// anyone could invent them.
func (r *Recorder) RefuseKey(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledger.FindCluster(name) == nil {
		name = ""
	}
	r.countRefusal(name, ledger.RefusedKey)
}

// refusedName returns the name to count: for a second name, people know the cluster by its own.
func (r *Recorder) refusedName(c ledger.Contact, receipt ledger.Receipt) string {
	if receipt.Admission == ledger.SecondName {
		return r.ledger.FindCluster(receipt.Cluster).Name()
	}
	return c.Name
}

func (r *Recorder) countRefusal(cluster string, reason ledger.RefusalReason) {
	if reason == "" {
		return
	}
	r.options.Metrics.RecordRefusal(reason)
	now := r.options.Now()
	key := refusalKey{ledger.DayOf(now), cluster, reason}
	found := r.refusals[key]
	r.refusals[key] = ledger.Refusals{Day: key.day, Cluster: cluster, Reason: reason, Count: found.Count + 1, Last: now}
}

// listRefusals requires r.mu.
func (r *Recorder) listRefusals() []ledger.Refusals {
	var all []ledger.Refusals
	for _, one := range r.refusals {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b ledger.Refusals) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// dropRefusals removes stored refusals. It requires r.mu.
func (r *Recorder) dropRefusals(stored []ledger.Refusals) {
	for _, one := range stored {
		key := refusalKey{one.Day, one.Cluster, one.Reason}
		left := r.refusals[key]
		left.Count -= one.Count
		if left.Count > 0 {
			r.refusals[key] = left
		} else {
			delete(r.refusals, key)
		}
	}
}

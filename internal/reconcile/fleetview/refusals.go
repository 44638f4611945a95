package fleetview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// Refusal counts a cluster's refused reports for one reason.
type Refusal struct {
	Cluster string    `json:"cluster"` // the claimed name; "" for unknown names
	Reason  string    `json:"reason"`  // a reason of the ledger
	Count   int       `json:"count"`
	Last    time.Time `json:"last"`
	Why     string    `json:"why"` // explanation with the fix
}

func (r Refusal) key() string { return r.Cluster + " " + r.Reason }

const refusedFor = 7 * 24 * time.Hour

// FindRefusals returns refusals since a time, by cluster and reason. The first day counts as a
// whole if its last refusal is recent enough.
func (v *View) FindRefusals(ctx context.Context, q Query) (Page[Refusal], error) {
	err := v.checkCluster(q)
	if err != nil {
		return Page[Refusal]{}, err
	}
	since := q.Since
	if since.IsZero() {
		since = v.Now().Add(-refusedFor)
	}
	var days []ledger.Refusals
	err = v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		days, err = s.FindRefusals(ctx, ledger.DayOf(since))
		return err
	})
	all := []Refusal{}
	for _, one := range days {
		if one.Last.Before(since) || q.Cluster != "" && q.Cluster != one.Cluster {
			continue
		}
		i := slices.IndexFunc(all, func(r Refusal) bool { return r.Cluster == one.Cluster && r.Reason == string(one.Reason) })
		if i < 0 {
			i = len(all)
			all = append(all, Refusal{Cluster: one.Cluster, Reason: string(one.Reason), Last: one.Last, Why: explainRefusal(one.Reason)})
		}
		all[i].Count += one.Count
		if one.Last.After(all[i].Last) {
			all[i].Last = one.Last
		}
	}
	slices.SortFunc(all, func(a, b Refusal) int { return cmp.Compare(a.key(), b.key()) })
	return newPage(all, q, Refusal.key), err
}

// explainRefusal returns a sentence without a full stop.
func explainRefusal(r ledger.RefusalReason) string {
	switch r {
	case ledger.RefusedKey:
		return "the key was missing or wrong: store the one that fairlead fleet token prints for this very name"
	case ledger.RefusedReplay:
		return "the report was not newer than the last one: set the clock of the cluster, and restart the agent"
	case ledger.RefusedContested:
		return "another cluster reports under the name: give each a name and a key of its own, or adopt one that was rebuilt, with fairlead fleet adopt"
	case ledger.RefusedRenamed:
		return "the cluster reports under another name by now: remove what reports under this one"
	case ledger.RefusedSecond:
		return "an agent on the cluster reports under another name too: stop it, or, to rename the cluster, stop the one that has this name"
	case ledger.RefusedUnproven:
		return "the cluster has a key of its own, and another one was used: remove the shared secret from it"
	case ledger.RefusedObjects:
		return fmt.Sprintf("the cluster has more than %d objects: the others are not known", ledger.MaxObjects)
	}
	return "the reason is not known to this version"
}

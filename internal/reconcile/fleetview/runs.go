package fleetview

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// PastRun is how many clusters had reported the same of what applies their output.
type PastRun struct {
	Phase    string `json:"phase"`
	Revision string `json:"revision,omitempty"`
	Clusters int    `json:"clusters"`
}

// FindPastRuns returns what the clusters of an environment had reported at a time of what applies their output, the most
// frequent first, as far as the ledger has kept it.
func (v *View) FindPastRuns(ctx context.Context, environment string, at time.Time) (runs []PastRun, err error) {
	platforms := map[string]bool{}
	v.Ledger.VisitObjects(environment, func(c *ledger.Cluster, _ string, _ ledger.State) { platforms[c.Platform] = true })
	counts := map[PastRun]int{}
	err = v.Ask(ctx, func(s *ledgerdb.Store) error {
		for _, object := range slices.Sorted(maps.Keys(platforms)) {
			f := ledgerdb.FleetFilter{Environment: environment, Limit: MaxItems}
			for full := true; full; {
				spans, err := s.FindStatesAt(ctx, object, f, at)
				if err != nil {
					return err
				}
				for _, span := range spans {
					counts[PastRun{Phase: span.Phase.String(), Revision: span.Revision}]++
					f.After = span.Key
				}
				full = len(spans) == MaxItems
			}
		}
		return nil
	})
	for run, n := range counts {
		run.Clusters = n
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b PastRun) int {
		return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Revision, b.Revision))
	})
	return runs, err
}

package fleetview

import (
	"cmp"
	"context"
	"errors"
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
	// Version is what people call the revision; "" if nothing says it.
	Version  string `json:"version,omitempty"`
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
	return sortRuns(counts), err
}

// sortRuns returns what clusters had reported, the most frequent first.
func sortRuns(counts map[PastRun]int) (runs []PastRun) {
	for run, n := range counts {
		run.Clusters = n
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b PastRun) int {
		return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Revision, b.Revision))
	})
	return runs
}

// FindPastTargetRuns returns what the clusters of a type had reported at a time of the objects of a deployment target,
// as FindPastRuns does; nothing if no cluster ever had it. Of a cluster with several objects each counts.
func (v *View) FindPastTargetRuns(ctx context.Context, environment, clusterType, target string, at time.Time) ([]PastRun, error) {
	counts := map[PastRun]int{}
	q := Query{Environment: environment, Type: clusterType, Workload: target, At: at, Limit: MaxItems}
	for more := true; more; {
		page, err := v.FindPlacements(ctx, q)
		var unknown *UnknownError
		if errors.As(err, &unknown) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, p := range page.Items {
			counts[PastRun{Phase: p.Phase, Revision: p.Revision, Version: p.Version}]++
		}
		q.After, more = page.Next, page.Next != ""
	}
	return sortRuns(counts), nil
}

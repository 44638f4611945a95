package fleetview

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

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

// PastCluster is a cluster, and what it had reported at a time of what applies its output.
type PastCluster struct {
	Environment, Type string // where it belonged then
	PastRun
}

// FindPastClusters returns the clusters of all environments that had reported by a time what applies their output, as far
// as the ledger has kept it.
func (v *View) FindPastClusters(ctx context.Context, at time.Time) (all []PastCluster, err error) {
	platforms, objects := map[string]string{}, map[string]bool{} // the first by the names of clusters
	for _, c := range v.Ledger.Clusters() {
		if c.Platform != "" {
			platforms[c.Name()], objects[c.Platform] = c.Platform, true
		}
	}
	err = v.Ask(ctx, func(s *ledgerdb.Store) error {
		for _, object := range slices.Sorted(maps.Keys(objects)) {
			f := ledgerdb.FleetFilter{Limit: MaxItems}
			for full := true; full; {
				spans, err := s.FindStatesAt(ctx, object, f, at)
				if err != nil {
					return err
				}
				for _, span := range spans {
					f.After = span.Key
					if platforms[span.Key] == object {
						all = append(all, PastCluster{span.Environment, span.ClusterType, PastRun{Phase: span.Phase.String(), Revision: span.Revision, Clusters: 1}})
					}
				}
				full = len(spans) == MaxItems
			}
		}
		return nil
	})
	return all, err
}

// CountPastRuns returns what clusters had reported that are of an environment, and of a type unless that is "", the most
// frequent first.
func CountPastRuns(all []PastCluster, environment, clusterType string) []PastRun {
	counts := map[PastRun]int{}
	for _, c := range all {
		if c.Environment == environment && (clusterType == "" || c.Type == clusterType) {
			counts[PastRun{Phase: c.Phase, Revision: c.Revision}]++
		}
	}
	return sortRuns(counts)
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
// as far as the ledger has kept it; nothing if no cluster ever had it. Of a cluster with several objects each counts.
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

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

// PastRun counts clusters with the same reported state.
type PastRun struct {
	Phase    string `json:"phase"`
	Revision string `json:"revision,omitempty"`
	// Version is the name of the revision; "" if unknown.
	Version  string `json:"version,omitempty"`
	Clusters int    `json:"clusters"`
}

// PastCluster is the past state of a cluster's platform object.
type PastCluster struct {
	Environment, Type string
	PastRun
}

// FindPastClusters returns all clusters that had reported by a time, as far as stored.
func (v *View) FindPastClusters(ctx context.Context, at time.Time) (all []PastCluster, err error) {
	platforms, objects := map[string]string{}, map[string]bool{}
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

// CountPastRuns counts clusters of an environment and type, most frequent first; type "" is any.
func CountPastRuns(all []PastCluster, environment, clusterType string) []PastRun {
	counts := map[PastRun]int{}
	for _, c := range all {
		if c.Environment == environment && (clusterType == "" || c.Type == clusterType) {
			counts[PastRun{Phase: c.Phase, Revision: c.Revision}]++
		}
	}
	return sortRuns(counts)
}

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

// FindPastTargetRuns returns the past states of a target on a cluster type, as far as stored;
// nothing if it never ran. It counts each object of a cluster.
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

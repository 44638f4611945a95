package fleetview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// Drift is an object of a cluster that differs from what is wanted.
type Drift struct {
	Cluster string `json:"cluster"`
	Type    string `json:"clusterType"`
	Drift   string `json:"drift"` // "missing", "unwanted" or "modified"
	Object  string `json:"object"`
	Target  string `json:"target,omitempty"` // the deployment target
	Message string `json:"message,omitempty"`
}

func (d Drift) key() string { return d.Cluster + " " + d.Object + " " + d.Drift }

// FindDrift returns the drift of an environment. Clusters that are not ready have only
// modifications, because they may have another output. Only an agent knows what is missing.
func (v *View) FindDrift(ctx context.Context, q Query) (Page[Drift], error) {
	err := v.checkPlaces(ctx, q)
	if err != nil {
		return Page[Drift]{}, err
	}
	found, err := v.findSituations(ctx, q.Environment)
	if err != nil {
		return Page[Drift]{}, err
	}
	ready := map[string]bool{}
	for _, s := range found.all {
		if s.Class == ledger.ClassReady {
			ready[s.Cluster.Name()] = true
		}
	}
	var wanted []ledger.WantedObject
	err = v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		wanted, err = s.FindWantedObjects(ctx, q.Environment)
		return err
	})
	if err != nil {
		return Page[Drift]{}, err
	}
	all := []Drift{}
	for _, d := range v.Ledger.FindDrift(q.Environment, wanted) {
		if q.selects(d.ClusterType, d.Cluster, "") && (d.Kind == ledger.DriftModified || ready[d.Cluster]) {
			all = append(all, Drift{d.Cluster, d.ClusterType, d.Kind, d.Object, d.Target, d.Message})
		}
	}
	slices.SortFunc(all, func(a, b Drift) int { return cmp.Compare(a.key(), b.key()) })
	return newPage(all, q, Drift.key), nil
}

// DriftPeriod is an interval in which an object had drifted on clusters of an environment.
type DriftPeriod struct {
	Environment, Object, Message string
	Clusters                     []string
	Since, Until                 time.Time // Until is zero while it lasts
}

const maxDriftSpans = 1000

// ListDriftPeriods returns when Terraform objects had drifted. Overlapping drifts of an object are one period.
func ListDriftPeriods(ctx context.Context, v *View) (all []DriftPeriod, err error) {
	err = v.Ask(ctx, func(s *ledgerdb.Store) error {
		names, err := s.FindObjectNames(ctx)
		for _, name := range names {
			if err != nil {
				return err
			}
			if (ledger.Object{Name: name}).Kind() != "Terraform" {
				continue
			}
			var spans []ledgerdb.DriftSpan
			spans, err = ledgerdb.ListDriftSpans(ctx, s, name, maxDriftSpans)
			all = append(all, joinDrifts(name, spans)...)
		}
		return err
	})
	return all, err
}

func joinDrifts(object string, spans []ledgerdb.DriftSpan) (all []DriftPeriod) {
	last := map[string]int{} // by environment
	for _, s := range spans {
		i, known := last[s.Environment]
		if !known || !all[i].Until.IsZero() && s.Since.After(all[i].Until) {
			last[s.Environment] = len(all)
			all = append(all, DriftPeriod{s.Environment, object, s.Message, []string{s.Cluster}, s.Since, s.Until})
			continue
		}
		all[i].Clusters = list.AddMissing(all[i].Clusters, s.Cluster)
		if s.Until.IsZero() || !all[i].Until.IsZero() && s.Until.After(all[i].Until) {
			all[i].Until = s.Until
		}
	}
	return all
}

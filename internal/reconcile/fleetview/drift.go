package fleetview

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// The kinds of drift.
const (
	DriftMissing  = "missing"  // it is wanted, and not there
	DriftUnwanted = "unwanted" // it is there, and was wanted once
	DriftModified = "modified" // it was changed on the cluster
)

// Drift is an object of a cluster that is not as wanted.
type Drift struct {
	Cluster string `json:"cluster"`
	Type    string `json:"clusterType"`
	Drift   string `json:"drift"` // one of the kinds
	Object  string `json:"object"`
	Target  string `json:"target,omitempty"` // the deployment target that it is of, or was
	Message string `json:"message,omitempty"`
}

func (d Drift) key() string { return d.Cluster + " " + d.Object + " " + d.Drift }

// FindDrift returns what differs on the clusters of an environment from what is wanted. A cluster that is
// not ready has what another output wants, and not drift; only an agent knows what is missing; objects
// that were never wanted are other people's.
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
	all := []Drift{}
	add := func(kind string, drifts []ledgerdb.Drift) {
		for _, d := range drifts {
			wanted := (q.Type == "" || q.Type == d.ClusterType) && (q.Cluster == "" || q.Cluster == d.Cluster)
			if wanted && (kind == DriftModified || ready[d.Cluster]) {
				all = append(all, Drift{d.Cluster, d.ClusterType, kind, d.Object, d.Target, d.Message})
			}
		}
	}
	err = v.Ask(ctx, func(s *ledgerdb.Store) error {
		missing, err := s.FindMissing(ctx, q.Environment)
		unwanted, err2 := s.FindUnwanted(ctx, q.Environment)
		modified, err3 := s.FindModified(ctx, q.Environment)
		add(DriftMissing, missing)
		add(DriftUnwanted, unwanted)
		add(DriftModified, modified)
		return errors.Join(err, err2, err3)
	})
	slices.SortFunc(all, func(a, b Drift) int { return cmp.Compare(a.key(), b.key()) })
	return newPage(all, q, Drift.key), err
}

package ledgerdb

import (
	"context"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FindWantedObjects returns the objects that an environment's clusters should have by the newest
// output, and those dropped earlier.
func (s *Store) FindWantedObjects(ctx context.Context, environment string) ([]ledger.WantedObject, error) {
	var all []ledger.WantedObject
	err := s.ask(ctx, "fleet_wanted_objects", []any{environment}, func(scan scanFunc) error {
		var w ledger.WantedObject
		err := scan(&w.ClusterType, &w.Name, &w.Target, &w.Dropped)
		all = append(all, w)
		return err
	})
	return all, err
}

// TargetRef is the reference that a target's object requests on a cluster type.
type TargetRef struct {
	ClusterType, Target string
	Ref                 string // branch, tag, range or digest
}

// FindTargetRefs returns the references of deployment targets in an output.
func (s *Store) FindTargetRefs(ctx context.Context, environment, output string) (all []TargetRef, err error) {
	err = s.ask(ctx, "fleet_target_refs", []any{environment, output, output}, func(scan scanFunc) error {
		var r TargetRef
		err := scan(&r.ClusterType, &r.Target, &r.Ref)
		all = append(all, r)
		return err
	})
	return all, err
}

// DriftSpan is an interval in which an object of a cluster had drifted.
type DriftSpan struct {
	Cluster, Environment string
	Since, Until         time.Time // Until is zero while it lasts
	Message              string
}

// ListDriftSpans returns the newest drifts of an object on all clusters, oldest first.
func ListDriftSpans(ctx context.Context, s *Store, object string, limit int) ([]DriftSpan, error) {
	var all []DriftSpan
	err := s.ask(ctx, "fleet_drifts", []any{object, int64(ledger.Drifted), int64(ledger.Ready), int64(limit)}, func(scan scanFunc) error {
		var d DriftSpan
		var since, until int64
		err := scan(&d.Cluster, &d.Environment, &since, &until, &d.Message)
		d.Since, d.Until = timeOf(since), timeOf(until)
		all = append(all, d)
		return err
	})
	slices.Reverse(all)
	return all, err
}

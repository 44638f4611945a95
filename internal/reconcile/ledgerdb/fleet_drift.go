package ledgerdb

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FindWantedObjects returns what the clusters of an environment should have by the newest output, and what
// they once should have had, and no longer should.
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

// TargetRef is what an object of a deployment target asks for on the clusters of a type.
type TargetRef struct {
	ClusterType, Target string
	Ref                 string // a branch, a tag, a range or a digest
}

// FindTargetRefs returns what the objects of deployment targets ask for in an output of an environment.
func (s *Store) FindTargetRefs(ctx context.Context, environment, output string) (all []TargetRef, err error) {
	err = s.ask(ctx, "fleet_target_refs", []any{environment, output, output}, func(scan scanFunc) error {
		var r TargetRef
		err := scan(&r.ClusterType, &r.Target, &r.Ref)
		all = append(all, r)
		return err
	})
	return all, err
}

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

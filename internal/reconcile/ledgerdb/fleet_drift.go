package ledgerdb

import "context"

// Drift is an object of a cluster that is not as wanted.
type Drift struct {
	Cluster, ClusterType, Object string
	Target                       string // the deployment target that it is of, or was; "" if that is not known
	Message                      string
}

// FindMissing returns what the clusters of an environment that have an agent should have by the newest
// output, and do not have.
func (s *Store) FindMissing(ctx context.Context, environment string) ([]Drift, error) {
	var all []Drift
	err := s.ask(ctx, "fleet_missing", []any{environment}, func(scan scanFunc) error {
		var d Drift
		err := scan(&d.Cluster, &d.ClusterType, &d.Object, &d.Target)
		all = append(all, d)
		return err
	})
	return all, err
}

// FindUnwanted returns what the clusters of an environment have that they once should have, and no
// longer should.
func (s *Store) FindUnwanted(ctx context.Context, environment string) ([]Drift, error) {
	var dropped, all []Drift
	err := s.ask(ctx, "fleet_dropped", []any{environment}, func(scan scanFunc) error {
		var d Drift
		err := scan(&d.ClusterType, &d.Object, &d.Target)
		dropped = append(dropped, d)
		return err
	})
	for _, d := range dropped {
		if err != nil {
			break
		}
		var names []string
		err = s.ask(ctx, "fleet_holders", []any{d.Object, environment, d.ClusterType}, collectTexts(&names))
		for _, d.Cluster = range names {
			all = append(all, d)
		}
	}
	return all, err
}

// FindModified returns what was changed on the clusters of an environment, where their tool says so.
func (s *Store) FindModified(ctx context.Context, environment string) ([]Drift, error) {
	var all []Drift
	err := s.ask(ctx, "fleet_modified", []any{environment}, func(scan scanFunc) error {
		var d Drift
		err := scan(&d.Cluster, &d.ClusterType, &d.Object, &d.Message)
		all = append(all, d)
		return err
	})
	return all, err
}

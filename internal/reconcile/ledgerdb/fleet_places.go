package ledgerdb

import "context"

// FleetPlace is a folder that clusters apply.
type FleetPlace struct {
	Repo, Branch, Folder string
	// Environment and ClusterType are set for output, and Object for a workload.
	Environment, ClusterType, Object string
}

// FindPlaces returns the folders of outputs and workloads.
func (s *Store) FindPlaces(ctx context.Context) ([]FleetPlace, error) {
	var all []FleetPlace
	err := s.ask(ctx, "fleet_places", nil, func(scan scanFunc) error {
		var p FleetPlace
		err := scan(&p.Environment, &p.ClusterType, &p.Repo, &p.Branch, &p.Folder)
		all = append(all, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = s.ask(ctx, "fleet_parts", nil, func(scan scanFunc) error {
		var p FleetPlace
		err := scan(&p.Object, &p.Repo, &p.Branch, &p.Folder)
		all = append(all, p)
		return err
	})
	return all, err
}

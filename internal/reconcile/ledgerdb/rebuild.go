package ledgerdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// ReplaceOutputs replaces the wanted state of all environments in one transaction. Arrivals are
// kept, or derived from the stored spans.
func (s *Store) ReplaceOutputs(ctx context.Context, all []Outputs) error {
	err := s.engine.transact(ctx, func(in session) error { return replaceOutputs(ctx, in, all) })
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

func replaceOutputs(ctx context.Context, in session, all []Outputs) error {
	former := map[string]map[string][]int64{}
	next := int64(1)
	err := in.query(ctx, "outputs_load", nil, func(scan scanFunc) error {
		var environment, commit string
		var id int64
		err := scan(&environment, &commit, &id)
		if former[environment] == nil {
			former[environment] = map[string][]int64{}
		}
		former[environment][commit] = append(former[environment][commit], id)
		next = max(next, id+1)
		return err
	})
	if err != nil {
		return err
	}
	expected := make([]map[string]int, len(all)) // stored values that Git does not contain
	for i, o := range all {
		known, err := loadWanted(ctx, in, o.Environment.Name)
		if err != nil {
			return err
		}
		expected[i] = known.Expected
	}
	for _, table := range []string{"desired", "part", "reconciler_file", "assignment", "desired_type", "output", "cluster_type", "environment"} {
		err := in.exec(ctx, table+"_clear")
		if err != nil {
			return err
		}
	}
	for i, o := range all {
		if o.Expected == nil {
			o.Expected = expected[i]
		}
		for _, c := range o.Changes {
			err := writeParts(ctx, in, slices.Sorted(maps.Keys(c.Parts)), c.Parts)
			if err != nil {
				return err
			}
		}
		w := outputWriter{session: in, next: next, former: former[o.Environment.Name]}
		_, err := w.writeAll(ctx, o, WantedState{})
		if err != nil {
			return err
		}
		next = w.next
	}
	err = in.exec(ctx, "arrival_clear")
	for _, o := range all {
		if err == nil {
			err = in.exec(ctx, "arrival_of_environment", o.Environment.Name, int64(0))
		}
	}
	return err
}

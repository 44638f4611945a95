package ledgerdb

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// NoteEnvironments notes which environments exist. Data of others is deleted when their spans
// expire.
func (s *Store) NoteEnvironments(ctx context.Context, names []string, now time.Time) error {
	changed := map[string]any{} // time of removal; nil for none
	err := s.ask(ctx, "environments_gone", nil, func(scan scanFunc) error {
		var name string
		var gone int64
		err := scan(&name, &gone)
		switch there := slices.Contains(names, name); {
		case there && gone != 0:
			changed[name] = nil
		case !there && gone == 0:
			changed[name] = unixOf(now)
		}
		return err
	})
	if err != nil || len(changed) == 0 {
		return err
	}
	err = s.engine.transact(ctx, func(in session) error {
		for name, gone := range changed {
			err := in.exec(ctx, "environment_gone", name, gone)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

func (r *Retention) deleteObjects(ctx context.Context) (deleted bool, err error) {
	err = r.store.engine.transact(ctx, func(in session) error {
		deleted, err = deleteEach(ctx, in, "objects_old", []any{unixOf(r.now.Add(-r.keep.Spans)), int64(r.limit)}, "object_delete")
		return err
	})
	return deleted, err
}

// goneParts are deleted in this order, in steps of limit/share rows. reconciler.yaml files stay:
// other environments may have the same.
var goneParts = []struct {
	rows       string
	share      int
	statements []string
}{
	{"assignments_of_environment", 10, []string{"desired_delete", "assignment_delete"}},
	{"outputs_of_environment", 100, []string{"arrivals_delete", "output_delete"}},
	{"types_of_environment", 1000, []string{"desired_type_delete", "cluster_type_delete"}},
}

// deleteEnvironment deletes a step of a removed environment, and reports whether there was one. The
// environment's row goes last, so that it may stop after any step.
func (r *Retention) deleteEnvironment(ctx context.Context) (deleted bool, err error) {
	err = r.store.engine.transact(ctx, func(in session) error {
		var id int64
		err := in.query(ctx, "environment_old", []any{unixOf(r.now.Add(-r.keep.Spans))}, func(scan scanFunc) error { return scan(&id) })
		if err != nil || id == 0 {
			return err
		}
		deleted = true
		for _, part := range goneParts {
			found, err := deleteEach(ctx, in, part.rows, []any{id, int64(max(r.limit/part.share, 1))}, part.statements...)
			if err != nil || found {
				return err
			}
		}
		return in.exec(ctx, "environment_delete", id)
	})
	return deleted, err
}

func deleteEach(ctx context.Context, in session, find string, args []any, statements ...string) (found bool, err error) {
	var ids []int64
	err = in.query(ctx, find, args, func(scan scanFunc) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	for _, id := range ids {
		for _, statement := range statements {
			if err == nil {
				err = in.exec(ctx, statement, id)
			}
		}
	}
	return len(ids) > 0, err
}

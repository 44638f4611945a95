package ledgerdb

import (
	"context"
	"maps"
	"slices"
	"time"
)

// ArrivalDay summarizes the deleted arrivals of an output at a cluster type.
type ArrivalDay struct {
	Output      string
	ClusterType string
	Merged      time.Time
	Arrived
}

// FindArrivalDays returns the summaries of an environment, newest output first.
func (s *Store) FindArrivalDays(ctx context.Context, environment string) ([]ArrivalDay, error) {
	var all []ArrivalDay
	err := s.ask(ctx, "arrival_days", []any{environment}, func(scan scanFunc) (err error) {
		var d ArrivalDay
		var merged int64
		d.Arrived, err = scanArrived(scan, &d.Output, &d.ClusterType, &merged)
		d.Merged = timeOf(merged)
		all = append(all, d)
		return err
	})
	return all, err
}

const allTypes = "*"

// deleteArrivals summarizes and deletes one output's expired arrivals, and reports whether there
// were any.
func (r *Retention) deleteArrivals(ctx context.Context) (deleted bool, err error) {
	err = r.store.engine.transact(ctx, func(in session) error {
		var output, merged int64
		var environment, sha string
		err := in.query(ctx, "arrivals_old", []any{unixOf(r.now.Add(-r.keep.Arrivals))}, func(scan scanFunc) error {
			deleted = true
			return scan(&output, &environment, &sha, &merged)
		})
		if err != nil || !deleted {
			return err
		}
		types := map[string]*arrivals{allTypes: {merged: merged}}
		err = in.query(ctx, "arrivals_of_output", []any{output, merged}, func(scan scanFunc) error {
			var name string
			var ready, failed int64
			var measured bool
			err := scan(&name, &ready, &failed, &measured)
			if types[name] == nil {
				types[name] = &arrivals{merged: merged}
			}
			for _, of := range []string{name, allTypes} {
				types[of].add(ready, failed, measured)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(types)) {
			a := types[name].sum()
			err := in.exec(ctx, "arrival_day_add", environment, sha, name, merged, int64(a.Clusters), int64(a.Ready), int64(a.Failed),
				secondsOrNull(a.P50), secondsOrNull(a.P90), secondsOrNull(a.P95), secondsOrNull(a.Slowest), secondsOrNull(a.FirstFailed))
			if err != nil {
				return err
			}
		}
		return in.exec(ctx, "arrivals_delete", output)
	})
	return deleted, err
}

func (r *Retention) deleteArrivalDays(ctx context.Context) error {
	return r.store.engine.transact(ctx, func(in session) error {
		return in.exec(ctx, "arrival_day_delete", unixOf(r.now.Add(-r.keep.Days)))
	})
}

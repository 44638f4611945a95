package ledgerdb

import (
	"context"
	"maps"
	"slices"
	"time"
)

// ArrivalDay is how long an output took to the clusters of a type. It is of arrivals that are no longer
// kept.
type ArrivalDay struct {
	Output      string // the commit
	ClusterType string
	Merged      time.Time
	// Ready and Failed are how many clusters were ready with it, and how many failed at first.
	Ready, Failed int
	// P50, P90, P95 and Slowest are from the merge until so many percent of those that were ready
	// were; negative if none was.
	P50, P90, P95, Slowest time.Duration
}

// FindArrivalDays returns what the arrivals of an environment were added up to, the newest output first.
func (s *Store) FindArrivalDays(ctx context.Context, environment string) ([]ArrivalDay, error) {
	return s.askArrivalDays(ctx, "arrival_days", environment)
}

// findSummed returns what the arrivals of an output were added up to, at the clusters of all types; nil if
// they were not.
func (s *Store) findSummed(ctx context.Context, environment, output string) (*ArrivalDay, error) {
	all, err := s.askArrivalDays(ctx, "arrival_day_find", environment, output)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func (s *Store) askArrivalDays(ctx context.Context, statement string, args ...any) ([]ArrivalDay, error) {
	var all []ArrivalDay
	err := s.ask(ctx, statement, args, func(scan scanFunc) error {
		var d ArrivalDay
		var merged, ready, failed int64
		var took [4]int64
		err := scan(&d.Output, &d.ClusterType, &merged, &ready, &failed, &took[0], &took[1], &took[2], &took[3])
		d.Merged, d.Ready, d.Failed = timeOf(merged), int(ready), int(failed)
		for i, to := range []*time.Duration{&d.P50, &d.P90, &d.P95, &d.Slowest} {
			*to = time.Duration(took[i]) * time.Second
		}
		all = append(all, d)
		return err
	})
	return all, err
}

// allTypes stands for the clusters of all types.
const allTypes = "*"

// typeArrivals are the arrivals of an output at the clusters of a type.
type typeArrivals struct {
	took   []int64 // seconds from the merge, of those that were ready
	failed int64
}

// percentile returns the least time in which so many percent were ready; nil if none was.
func (a *typeArrivals) percentile(percent int) any {
	if len(a.took) == 0 {
		return nil
	}
	return a.took[(len(a.took)*percent+99)/100-1]
}

// deleteArrivals adds up the arrivals of an output that are no longer kept and deletes them, and reports
// whether there were any.
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
		types := map[string]*typeArrivals{allTypes: {}}
		err = in.query(ctx, "arrivals_of_output", []any{output}, func(scan scanFunc) error {
			var name string
			var ready, failed int64
			err := scan(&name, &ready, &failed)
			if types[name] == nil {
				types[name] = &typeArrivals{}
			}
			for _, of := range []string{name, allTypes} {
				if ready > 0 {
					types[of].took = append(types[of].took, ready-merged)
				}
				if failed > 0 {
					types[of].failed++
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(types)) {
			a := types[name]
			slices.Sort(a.took)
			err := in.exec(ctx, "arrival_day_add", environment, sha, name, merged, int64(len(a.took)), a.failed,
				a.percentile(50), a.percentile(90), a.percentile(95), a.percentile(100))
			if err != nil {
				return err
			}
		}
		return in.exec(ctx, "arrivals_delete", output)
	})
	return deleted, err
}

// deleteArrivalDays deletes what is no longer kept of what arrivals were added up to.
func (r *Retention) deleteArrivalDays(ctx context.Context) error {
	return r.store.engine.transact(ctx, func(in session) error {
		return in.exec(ctx, "arrival_day_delete", unixOf(r.now.Add(-r.keep.Days)))
	})
}

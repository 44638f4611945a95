package ledgerdb

import (
	"context"
	"time"
)

// FleetOutput is an output, and when it came to clusters.
type FleetOutput struct {
	Seq              int64
	Revision, Base   string
	Authored, Merged time.Time
	// Ready and Failed are how long it took to the first success, and to the first failure, of each
	// cluster that had one.
	Ready, Failed []time.Duration
	// Summed is what they were added up to, if single ones are no longer kept; nil if they are.
	Summed *ArrivalDay
}

// FindOutputs returns the outputs of an environment that were merged since a time and before one of
// them, the newest first.
func (s *Store) FindOutputs(ctx context.Context, environment string, since time.Time, before int64, limit int) ([]FleetOutput, error) {
	var all []FleetOutput
	var ids []int64
	err := s.ask(ctx, "fleet_outputs", []any{environment, unixOf(since), before, int64(limit)}, func(scan scanFunc) error {
		var o FleetOutput
		var id, authored, merged int64
		err := scan(&id, &o.Seq, &o.Revision, &o.Base, &authored, &merged)
		o.Authored, o.Merged = timeOf(authored), timeOf(merged)
		all, ids = append(all, o), append(ids, id)
		return err
	})
	for i := range all {
		if err == nil {
			err = s.findArrivals(ctx, ids[i], &all[i])
		}
		if err == nil {
			all[i].Summed, err = s.findSummed(ctx, environment, all[i].Revision)
		}
	}
	return all, err
}

func (s *Store) findArrivals(ctx context.Context, id int64, o *FleetOutput) error {
	return s.ask(ctx, "fleet_arrivals", []any{id}, func(scan scanFunc) error {
		var ready, failed int64
		err := scan(&ready, &failed)
		if ready != 0 {
			o.Ready = append(o.Ready, timeOf(ready).Sub(o.Merged))
		}
		if failed != 0 {
			o.Failed = append(o.Failed, timeOf(failed).Sub(o.Merged))
		}
		return err
	})
}

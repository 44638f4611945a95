package ledgerdb

import (
	"context"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FleetOutput is an output, and how it came to clusters.
type FleetOutput struct {
	Seq              int64
	Revision, Base   string
	Authored, Merged time.Time
	Arrived
}

// Arrived is how an output came to the clusters that got something new by it.
type Arrived struct {
	// Clusters are those that were ready with it or failed, Ready those that were ready, and Failed those
	// that failed at least once.
	Clusters, Ready, Failed int
	// P50, P90, P95 and Slowest are from the merge until so many percent of those that were ready were, of
	// the clusters that were in touch before the merge. FirstFailed is from the merge to the first failure.
	// They are negative if that is not known.
	P50, P90, P95, Slowest, FirstFailed time.Duration
}

// arrivals are added up.
type arrivals struct {
	merged int64
	sums   Arrived
	took   []int64 // seconds from the merge
	failed []int64 // the same
}

// add adds when a cluster was ready and when it failed; 0 for never. It is measured if the cluster was in
// touch before the merge.
func (a *arrivals) add(ready, failed int64, measured bool) {
	a.sums.Clusters++
	if ready > 0 {
		a.sums.Ready++
	}
	if ready > 0 && measured {
		a.took = append(a.took, ready-a.merged)
	}
	if failed > 0 {
		a.sums.Failed++
		a.failed = append(a.failed, failed-a.merged)
	}
}

// sum returns what the arrivals come to.
func (a *arrivals) sum() Arrived {
	sum := a.sums
	slices.Sort(a.took)
	slices.Sort(a.failed)
	for percent, to := range map[int]*time.Duration{50: &sum.P50, 90: &sum.P90, 95: &sum.P95, 100: &sum.Slowest} {
		*to = -time.Second
		if n := len(a.took); n > 0 {
			*to = time.Duration(a.took[(n*percent+99)/100-1]) * time.Second
		}
	}
	sum.FirstFailed = -time.Second
	if len(a.failed) > 0 {
		sum.FirstFailed = time.Duration(a.failed[0]) * time.Second
	}
	return sum
}

// scanArrived reads the columns before, and behind them what arrivals were added up to.
func scanArrived(scan scanFunc, before ...any) (Arrived, error) {
	var a Arrived
	var took [5]int64
	err := scan(append(before, &a.Clusters, &a.Ready, &a.Failed, &took[0], &took[1], &took[2], &took[3], &took[4])...)
	for i, to := range []*time.Duration{&a.P50, &a.P90, &a.P95, &a.Slowest, &a.FirstFailed} {
		*to = time.Duration(took[i]) * time.Second
	}
	return a, err
}

// secondsOrNull returns a length of time in seconds; null for a negative one.
func secondsOrNull(d time.Duration) any {
	if d < 0 {
		return nil
	}
	return int64(d / time.Second)
}

// FindOutputs returns the outputs of an environment that were merged since a time and before one of
// them, the newest first.
func (s *Store) FindOutputs(ctx context.Context, environment string, since time.Time, before int64, limit int) ([]FleetOutput, error) {
	var all []FleetOutput
	err := s.ask(ctx, "fleet_outputs", []any{environment, unixOf(since), before, int64(limit)}, func(scan scanFunc) error {
		var o FleetOutput
		var authored, merged int64
		err := scan(&o.Seq, &o.Revision, &o.Base, &authored, &merged)
		o.Authored, o.Merged = timeOf(authored), timeOf(merged)
		all = append(all, o)
		return err
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	between := []any{environment, all[len(all)-1].Seq, all[0].Seq}
	found := map[int64]*arrivals{} // by seq
	for _, o := range all {
		found[o.Seq] = &arrivals{merged: unixOf(o.Merged)}
	}
	err = s.ask(ctx, "fleet_arrivals", between, func(scan scanFunc) error {
		var seq, ready, failed int64
		var measured bool
		err := scan(&seq, &ready, &failed, &measured)
		if a := found[seq]; a != nil {
			a.add(ready, failed, measured)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sums := map[int64]Arrived{} // of those that are no longer kept one by one
	err = s.ask(ctx, "fleet_sums", between, func(scan scanFunc) (err error) {
		var seq int64
		var sum Arrived
		sum, err = scanArrived(scan, &seq)
		sums[seq] = sum
		return err
	})
	for i, o := range all {
		sum, summed := sums[o.Seq]
		if !summed {
			sum = found[o.Seq].sum()
		}
		all[i].Arrived = sum
	}
	return all, err
}

// FindKnownSince returns when the first output of an environment was merged of which it is known how it
// came to clusters; the zero time if of none.
func (s *Store) FindKnownSince(ctx context.Context, environment string) (since time.Time, err error) {
	err = s.ask(ctx, "fleet_known_since", []any{environment}, func(scan scanFunc) error {
		var merged int64
		err := scan(&merged)
		since = timeOf(merged)
		return err
	})
	return since, err
}

// FindFolderChanges returns which folders of cluster types the outputs of an environment have changed, by
// the seq of the output.
func (s *Store) FindFolderChanges(ctx context.Context, environment string) (map[int64][]ledger.FolderChange, error) {
	all := map[int64][]ledger.FolderChange{}
	name, ended := "", int64(0) // those of the row before
	end := func(next string, from int64) {
		if ended > 0 && (next != name || from != ended) {
			all[ended] = append(all[ended], ledger.FolderChange{ClusterType: name})
		}
	}
	err := s.ask(ctx, "fleet_folder_changes", []any{environment}, func(scan scanFunc) error {
		var c ledger.FolderChange
		var from, to int64
		err := scan(&c.ClusterType, &c.ID, &from, &to)
		end(c.ClusterType, from)
		all[from], name, ended = append(all[from], c), c.ClusterType, to
		return err
	})
	end("", 0)
	return all, err
}

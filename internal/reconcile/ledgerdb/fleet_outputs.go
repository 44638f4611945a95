package ledgerdb

import (
	"context"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FleetOutput is an output with its arrivals.
type FleetOutput struct {
	Seq              int64
	Revision, Base   string
	Authored, Merged time.Time
	Arrived
}

// Arrived summarizes the arrivals of an output at the clusters that it changed.
type Arrived struct {
	// Clusters were ready or failed with it at least once.
	Clusters, Ready, Failed int
	// P50, P90, P95 and Slowest are the times from the merge until that share of the ready clusters
	// was ready, without clusters first seen later. FirstFailed is the time to the first failure.
	// They are negative if unknown.
	P50, P90, P95, Slowest, FirstFailed time.Duration
}

type arrivals struct {
	merged int64
	sums   Arrived
	took   []int64 // seconds from the merge
	failed []int64
}

// add takes Unix times; 0 means never. measured is set if the cluster was in touch before the
// merge.
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

func scanArrived(scan scanFunc, before ...any) (Arrived, error) {
	var a Arrived
	var took [5]int64
	err := scan(append(before, &a.Clusters, &a.Ready, &a.Failed, &took[0], &took[1], &took[2], &took[3], &took[4])...)
	for i, to := range []*time.Duration{&a.P50, &a.P90, &a.P95, &a.Slowest, &a.FirstFailed} {
		*to = time.Duration(took[i]) * time.Second
	}
	return a, err
}

func secondsOrNull(d time.Duration) any {
	if d < 0 {
		return nil
	}
	return int64(d / time.Second)
}

// FindOutputs returns outputs merged since a time, with a number less than before, newest first.
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
	found := map[int64]*arrivals{}
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
	sums := map[int64]Arrived{} // of deleted arrivals
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

// FindKnownSince returns the merge time of an environment's first output with arrivals; zero for
// none.
func (s *Store) FindKnownSince(ctx context.Context, environment string) (since time.Time, err error) {
	err = s.ask(ctx, "fleet_known_since", []any{environment}, func(scan scanFunc) error {
		var merged int64
		err := scan(&merged)
		since = timeOf(merged)
		return err
	})
	return since, err
}

// FindFolderChanges returns the folder changes of an environment's outputs, by their seq.
func (s *Store) FindFolderChanges(ctx context.Context, environment string) (map[int64][]ledger.FolderChange, error) {
	all := map[int64][]ledger.FolderChange{}
	name, ended := "", int64(0) // of the previous row
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

package ledgerdb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Keep has retention times.
type Keep struct {
	// Spans applies to ended spans, except each object's last while its environment exists, and to
	// removed environments.
	Spans time.Duration
	// Arrivals applies to a cluster's arrivals after a newer output changed its type; 0 means
	// forever.
	Arrivals time.Duration
	// Days applies to daily sums of spans and refusals.
	Days time.Duration
}

const maxRetained = 10_000

// Retention summarizes and deletes expired rows in steps, and may end after any. Queries within the
// retention times keep their results.
type Retention struct {
	store *Store
	keep  Keep
	now   time.Time
	limit int
	next  int64 // first object that may have expired spans
}

// NewRetention returns a Retention as of now that changes at most limit rows in a step; 0 for the
// default.
func (s *Store) NewRetention(keep Keep, now time.Time, limit int) *Retention {
	if limit == 0 {
		limit = maxRetained
	}
	return &Retention{store: s, keep: keep, now: now, limit: limit}
}

// Step runs one step, and reports whether there are more.
func (r *Retention) Step(ctx context.Context) (more bool, err error) {
	var found oldSpans
	err = r.store.engine.read(ctx, func(in session) (err error) {
		found, err = r.findSpans(ctx, in)
		return err
	})
	if err == nil && len(found.spans) > 0 {
		err = r.store.engine.transact(ctx, func(in session) error { return r.deleteSpans(ctx, in, found) })
		more = true
	}
	if err == nil && !more && r.keep.Arrivals > 0 {
		more, err = r.deleteArrivals(ctx)
	}
	for _, table := range []string{"phase_day", "refusal"} {
		if err == nil && !more {
			more, err = r.deleteDay(ctx, table)
		}
	}
	if err == nil && !more {
		more, err = r.deleteObjects(ctx)
	}
	if err == nil && !more {
		more, err = r.deleteEnvironment(ctx)
	}
	if err == nil && !more {
		err = r.deleteArrivalDays(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("clean up the ledger: %w", err)
	}
	return more, nil
}

type oldSpans struct {
	round int64
	spans []oldSpan
	days  map[phaseDay]*phaseTime
}

type oldSpan struct{ object, since, message int64 }

type phaseDay struct {
	day                              ledger.Day
	environment, clusterType, object string
	phase                            ledger.Phase
}

func (d phaseDay) compare(other phaseDay) int {
	return cmp.Or(cmp.Compare(d.day, other.day), cmp.Compare(d.environment, other.environment), cmp.Compare(d.clusterType, other.clusterType),
		cmp.Compare(d.object, other.object), cmp.Compare(d.phase, other.phase))
}

type phaseTime struct{ seconds, changes int64 }

func (r *Retention) findSpans(ctx context.Context, in session) (oldSpans, error) {
	found := oldSpans{days: map[phaseDay]*phaseTime{}}
	err := in.query(ctx, "retention_round", nil, func(scan scanFunc) error { return scan(&found.round) })
	if err != nil {
		return found, err
	}
	full := false
	err = in.query(ctx, "spans_old", []any{r.next, unixOf(r.now.Add(-r.keep.Spans)), int64(r.limit)}, func(scan scanFunc) error {
		var s oldSpan
		var of phaseDay
		var until, phase int64
		err := scan(&s.object, &of.environment, &of.clusterType, &of.object, &s.since, &until, &phase, &s.message)
		of.phase = ledger.Phase(phase)
		rows := len(found.spans) + len(found.days)
		longest := (until-s.since)/(24*60*60) + 3 // rows: its days and itself
		full = full || rows > 0 && int64(rows)+longest > int64(r.limit)
		if err != nil || full {
			return err
		}
		found.spans = append(found.spans, s)
		found.addDays(of, time.Unix(s.since, 0), time.Unix(until, 0), ledger.DayOf(r.now.Add(-r.keep.Days)))
		return nil
	})
	return found, err
}

func (f *oldSpans) addDays(of phaseDay, since, until time.Time, first ledger.Day) {
	began := ledger.DayOf(since)
	for of.day = max(began, first); of.day.Start().Before(until) || of.day == began; of.day++ {
		if f.days[of] == nil {
			f.days[of] = &phaseTime{}
		}
		from, to := of.day.Start(), (of.day + 1).Start()
		if since.After(from) {
			from = since
		}
		if until.Before(to) {
			to = until
		}
		f.days[of].seconds += int64(to.Sub(from) / time.Second)
		if of.day == began {
			f.days[of].changes++
		}
	}
}

// deleteSpans deletes and sums spans, unless another process already did. It deletes first, because
// a full database has no room for the sums.
func (r *Retention) deleteSpans(ctx context.Context, in session, found oldSpans) error {
	round := found.round
	err := in.query(ctx, "retention_round", nil, func(scan scanFunc) error { return scan(&round) })
	if err != nil || round != found.round {
		return err
	}
	err = in.exec(ctx, "retention_advance")
	if err != nil {
		return err
	}
	messages := map[int64]bool{}
	var deleted rows
	for _, s := range found.spans {
		deleted.add(s.object, s.since)
		messages[s.message] = true
		r.next = s.object
	}
	err = in.execAll(ctx, "span_delete", deleted)
	if err != nil {
		return err
	}
	delete(messages, 0)
	for _, id := range slices.Sorted(maps.Keys(messages)) {
		err := in.exec(ctx, "message_forget", id)
		if err != nil {
			return err
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(found.days), phaseDay.compare) {
		t := found.days[of]
		err := in.exec(ctx, "phase_day_add", int64(of.day), of.environment, of.clusterType, of.object, int64(of.phase), t.seconds, t.changes)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Retention) deleteDay(ctx context.Context, table string) (deleted bool, err error) {
	err = r.store.engine.transact(ctx, func(in session) error {
		day := int64(0)
		err := in.query(ctx, table+"_oldest", []any{int64(ledger.DayOf(r.now.Add(-r.keep.Days)))}, func(scan scanFunc) error { return scan(&day) })
		if err != nil || day == 0 {
			return err
		}
		deleted = true
		return in.exec(ctx, table+"_delete", day)
	})
	return deleted, err
}

// Shrink returns unused space to the system, where the database does not.
func (s *Store) Shrink(ctx context.Context) error {
	err := s.engine.shrink(ctx)
	if err != nil {
		return fmt.Errorf("shrink the ledger: %w", err)
	}
	return nil
}

// Size returns the database's size in bytes.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	err = s.ask(ctx, "store_size", nil, func(scan scanFunc) error { return scan(&size) })
	return size, err
}

// PhaseDay sums the deleted spans of a day by object, cluster type and phase: seconds in the phase,
// and changes to it.
type PhaseDay struct {
	Day     ledger.Day
	Group   ledger.Group
	Object  string
	Phase   ledger.Phase
	Seconds int64
	Changes int64
}

// FindPhaseDays returns the daily sums since a day.
func (s *Store) FindPhaseDays(ctx context.Context, from ledger.Day) ([]PhaseDay, error) {
	var all []PhaseDay
	err := s.ask(ctx, "phase_days", []any{int64(from)}, func(scan scanFunc) error {
		var d PhaseDay
		var day, phase int64
		err := scan(&day, &d.Group.Environment, &d.Group.ClusterType, &d.Object, &phase, &d.Seconds, &d.Changes)
		d.Day, d.Phase = ledger.Day(day), ledger.Phase(phase)
		all = append(all, d)
		return err
	})
	return all, err
}

// FindRefusals returns the refusals since a day, newest first.
func (s *Store) FindRefusals(ctx context.Context, from ledger.Day) ([]ledger.Refusals, error) {
	var all []ledger.Refusals
	err := s.ask(ctx, "refusals", []any{int64(from)}, func(scan scanFunc) error {
		var r ledger.Refusals
		var day, count, last int64
		var reason string
		err := scan(&day, &r.Cluster, &reason, &count, &last)
		r.Day, r.Reason, r.Count, r.Last = ledger.Day(day), ledger.RefusalReason(reason), int(count), timeOf(last)
		all = append(all, r)
		return err
	})
	return all, err
}

func (w *batchWriter) writeRefusals(ctx context.Context, all []ledger.Refusals) error {
	for _, r := range all {
		err := w.exec(ctx, "refusal_add", int64(r.Day), r.Cluster, string(r.Reason), int64(r.Count), unixOf(r.Last))
		if err != nil {
			return err
		}
	}
	return nil
}

package ledgerdb

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FindHistory returns the spans of an object, oldest first. Of several clusters with the name, it
// takes the last.
func (s *Store) FindHistory(ctx context.Context, o ledger.Object) ([]ledger.Span, error) {
	var all []ledger.Span
	err := s.ask(ctx, "history", []any{o.Cluster, o.Name}, func(scan scanFunc) error {
		span, err := scanSpan(scan)
		all = append(all, span)
		return err
	})
	return all, err
}

// FindSpansSince returns the spans since a time, and the one before, oldest first. The object has
// the ID of its cluster.
func (s *Store) FindSpansSince(ctx context.Context, o ledger.Object, since time.Time) ([]ledger.Span, error) {
	var all []ledger.Span
	err := s.ask(ctx, "spans_since", []any{o.Cluster, o.Name, unixOf(since)}, func(scan scanFunc) error {
		span, err := scanSpan(scan)
		all = append(all, span)
		return err
	})
	return all, err
}

// Running is a state of an object at a time.
type Running struct {
	Cluster string // its name at that time
	Span    ledger.Span
}

// FindRunning returns the states of an object at a time, by the first contacts of the clusters.
func (s *Store) FindRunning(ctx context.Context, object string, at time.Time) ([]Running, error) {
	var all []Running
	err := s.ask(ctx, "running_at", []any{object, unixOf(at)}, func(scan scanFunc) error {
		var r Running
		var err error
		r.Span, err = scanSpan(scan, &r.Cluster)
		all = append(all, r)
		return err
	})
	return all, err
}

func (s *Store) ask(ctx context.Context, statement string, args []any, each func(scan scanFunc) error) error {
	err := s.engine.read(ctx, func(in session) error { return in.query(ctx, statement, args, each) })
	if err != nil {
		return fmt.Errorf("ask the ledger: %w", err)
	}
	return nil
}

func scanSpan(scan scanFunc, before ...any) (ledger.Span, error) {
	var s ledger.Span
	var since, until, phase int64
	err := scan(append(before, &since, &until, &phase, &s.Revision, &s.Attempted, &s.Message, &s.Late, &s.App)...)
	s.Since, s.Until, s.Phase = timeOf(since), timeOf(until), ledger.Phase(phase)
	s.Message, s.Plan = ledger.SplitDetail(s.Phase, s.Message)
	return s, err
}

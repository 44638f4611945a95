package ledgerdb

import (
	"context"
	"strings"
)

// Counts are the statements that a store has run, and the rows that they returned and the ids that they were asked for.
type Counts struct {
	Statements []string
	Rows       int
	// Scans are the scans of whole tables in the plans of SQLite, as "table (statement)".
	Scans []string
}

// CountStatements has a store count what it reads.
func CountStatements(s *Store) *Counts {
	c := &countingEngine{engine: s.engine}
	s.engine = c
	return &c.counts
}

type countingEngine struct {
	engine
	counts Counts
}

func (e *countingEngine) read(ctx context.Context, work func(session) error) error {
	return e.engine.read(ctx, func(s session) error { return work(&countingSession{s, e}) })
}

type countingSession struct {
	session
	engine *countingEngine
}

func (s *countingSession) query(ctx context.Context, statement string, args []any, each func(scanFunc) error) error {
	if err := s.engine.note(ctx, statement); err != nil {
		return err
	}
	return s.session.query(ctx, statement, args, s.counted(each))
}

func (s *countingSession) queryEach(ctx context.Context, statement string, ids []int64, each func(scanFunc) error) error {
	if err := s.engine.note(ctx, statement); err != nil {
		return err
	}
	s.engine.counts.Rows += len(ids) // SQLite looks each of them up by itself
	return s.session.queryEach(ctx, statement, ids, s.counted(each))
}

func (s *countingSession) counted(each func(scanFunc) error) func(scanFunc) error {
	return func(scan scanFunc) error {
		s.engine.counts.Rows++
		return each(scan)
	}
}

// note counts a statement, and the scans in its plan if the engine is SQLite.
func (e *countingEngine) note(ctx context.Context, statement string) error {
	e.counts.Statements = append(e.counts.Statements, statement)
	lite, ok := e.engine.(*sqlite3)
	if !ok {
		return nil
	}
	text := lite.statements[statement]
	rows, err := lite.readers.QueryContext(ctx, "explain query plan "+text, make([]any, len(parameters.FindAllString(text, -1)))...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		if scanned, ok := strings.CutPrefix(detail, "SCAN "); ok {
			e.counts.Scans = append(e.counts.Scans, scanned+" ("+statement+")")
		}
	}
	return rows.Err()
}

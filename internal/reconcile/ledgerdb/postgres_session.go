package ledgerdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

const (
	maxQueued = 500
	// longestText limits texts, in bytes: PostgreSQL cannot index much longer ones.
	longestText = 2000
)

// postgresSession is a transaction. It queues statements without results, to save round trips.
type postgresSession struct {
	statements map[string]string
	tx         pgx.Tx
	queued     pgx.Batch
	names      []string
	done       int // number of earlier queued statements
}

type queuedError struct {
	number int // in the transaction, from 1
	err    error
}

func (e *queuedError) Error() string { return e.err.Error() }
func (e *queuedError) Unwrap() error { return e.err }

func (s *postgresSession) exec(ctx context.Context, statement string, args ...any) error {
	found, err := s.find(statement)
	if err != nil {
		return err
	}
	s.queued.Queue(found, cleanArguments(args)...)
	s.names = append(s.names, statement)
	if len(s.names) < maxQueued {
		return nil
	}
	return s.send(ctx)
}

const maxRows = 5000

func (s *postgresSession) execAll(ctx context.Context, statement string, all rows) error {
	for some := range slices.Chunk(all.values, max(maxRows*all.width, 1)) {
		columns := make([]any, all.width)
		for i := range columns {
			column := make([]int64, 0, len(some)/all.width)
			for row := range slices.Chunk(some, all.width) {
				column = append(column, row[i])
			}
			columns[i] = column
		}
		err := s.exec(ctx, statement, columns...)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *postgresSession) query(ctx context.Context, statement string, args []any, each func(scan scanFunc) error) error {
	found, err := s.find(statement)
	if err != nil {
		return err
	}
	s.queued.Queue(found, cleanArguments(args)...)
	return s.sendBefore(ctx, func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		defer rows.Close()
		for rows.Next() {
			err := each(rows.Scan)
			if err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		err = rows.Err()
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}

func (s *postgresSession) queryEach(ctx context.Context, statement string, ids []int64, each func(scan scanFunc) error) error {
	if len(ids) == 0 {
		return nil
	}
	return s.query(ctx, statement, []any{ids}, each)
}

func (s *postgresSession) find(statement string) (string, error) {
	found, ok := s.statements[statement]
	if !ok {
		return "", fmt.Errorf("there is no statement %s", statement)
	}
	return found, nil
}

func (s *postgresSession) send(ctx context.Context) error {
	if len(s.names) == 0 {
		return nil
	}
	return s.sendBefore(ctx, func(pgx.BatchResults) error { return nil })
}

func (s *postgresSession) sendBefore(ctx context.Context, read func(pgx.BatchResults) error) error {
	queued, names := s.queued, s.names
	s.queued, s.names = pgx.Batch{}, nil
	results := s.tx.SendBatch(ctx, &queued)
	for _, name := range names {
		_, err := results.Exec()
		if err != nil {
			err = &queuedError{s.done + 1, fmt.Errorf("%s: %w", name, err)}
			return errors.Join(err, results.Close())
		}
		s.done++
	}
	err := read(results)
	return errors.Join(err, results.Close())
}

type longText string

// cleanArguments removes what PostgreSQL rejects in text. Otherwise one report could block all
// others.
func cleanArguments(args []any) []any {
	cleaned := make([]any, len(args))
	for i, arg := range args {
		cleaned[i] = arg
		value, ok := arg.(string)
		if ok {
			value = strings.ReplaceAll(strings.ToValidUTF8(value, "\uFFFD"), "\x00", "\uFFFD")
			cleaned[i] = text.Shorten(value, longestText)
		}
	}
	return cleaned
}

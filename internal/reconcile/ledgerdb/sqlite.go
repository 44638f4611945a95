package ledgerdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// sqlite3 is an engine for SQLite files. Readers do not wait for the writer.
type sqlite3 struct {
	files, readers *sql.DB
	writer         *sql.Conn // only connection of files; both nil for reading
	statements     map[string]string
	prepared       map[string]*sql.Stmt
	bulk           map[string]driver.StmtExecContext
	args           []driver.NamedValue
	path           string
	opened         os.FileInfo // the written file
}

const (
	// sqliteFiles marks SQL files for this engine.
	sqliteFiles = "lite"
	maxReaders  = 4
	// busyTimeout is how long to wait for another process, in milliseconds.
	busyTimeout = "5000"
)

// OpenSQLite opens or creates the ledger in a file. Errors include ErrDamaged and ErrNewer.
func OpenSQLite(ctx context.Context, path string) (*Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	opened, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	e := &sqlite3{prepared: map[string]*sql.Stmt{}, bulk: map[string]driver.StmtExecContext{}, path: path, opened: opened}
	e.statements, err = readStatements(sqliteFiles)
	if err != nil {
		return nil, err
	}
	e.files, err = openSQLiteFile(path, "auto_vacuum(incremental)", "journal_mode(wal)", "synchronous(normal)")
	if err != nil {
		return nil, err
	}
	e.readers, err = openSQLiteFile(path, "query_only(true)")
	if err != nil {
		return nil, errors.Join(err, e.files.Close())
	}
	e.readers.SetMaxOpenConns(maxReaders)
	e.writer, err = e.files.Conn(ctx)
	if err == nil {
		err = e.inTransaction(ctx, func() error { return runMigrations(ctx, sqliteMigrator{e.writer}, sqliteFiles) })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger %s: %w", path, describeSQLiteError(err)), e.close())
	}
	return newStore(e), nil
}

// ReadSQLite opens an existing file for reading. Errors include ErrNewer.
func ReadSQLite(ctx context.Context, path string) (*Store, error) {
	_, err := os.Stat(path) // SQLite would create a file
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	e := &sqlite3{}
	e.statements, err = readStatements(sqliteFiles)
	if err != nil {
		return nil, err
	}
	e.readers, err = openSQLiteFile(path, "query_only(true)")
	if err != nil {
		return nil, err
	}
	e.readers.SetMaxOpenConns(maxReaders)
	err = checkVersion(ctx, e.readers)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger %s: %w", path, describeSQLiteError(err)), e.close())
	}
	return newStore(e), nil
}

func checkVersion(ctx context.Context, on *sql.DB) error {
	all, err := readMigrations(sqliteFiles)
	if err != nil {
		return err
	}
	var version int
	err = on.QueryRowContext(ctx, "pragma user_version").Scan(&version)
	if err != nil {
		return err
	}
	return compareVersion(version, newestVersion(all))
}

func openSQLiteFile(path string, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"_pragma": append([]string{"busy_timeout(" + busyTimeout + ")"}, pragmas...)}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String())
}

type sqliteMigrator struct{ conn *sql.Conn }

func (m sqliteMigrator) version(ctx context.Context) (n int, err error) {
	err = m.conn.QueryRowContext(ctx, "pragma user_version").Scan(&n)
	return n, err
}

func (m sqliteMigrator) migrate(ctx context.Context, text string) error {
	_, err := m.conn.ExecContext(ctx, text)
	return err
}

func (m sqliteMigrator) setVersion(ctx context.Context, version int) error {
	_, err := m.conn.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d", version))
	return err
}

func (e *sqlite3) inTransaction(ctx context.Context, work func() error) error {
	if _, err := e.writer.ExecContext(ctx, "begin immediate"); err != nil {
		return describeSQLiteError(err)
	}
	err := work()
	if err == nil {
		_, err = e.writer.ExecContext(ctx, "commit")
	}
	if err != nil {
		// SQLite rolls back by itself after some errors.
		_, _ = e.writer.ExecContext(context.WithoutCancel(ctx), "rollback")
	}
	return describeSQLiteError(err)
}

func (e *sqlite3) transact(ctx context.Context, work func(session) error) error {
	if err := e.checkFile(); err != nil {
		return err
	}
	return e.inTransaction(ctx, func() error { return work(&sqliteSession{e.statements, e.writer, e.prepared, e}) })
}

// checkFile returns ErrDamaged if the file was removed or replaced: writes to it would be lost.
func (e *sqlite3) checkFile() error {
	now, err := os.Stat(e.path)
	if err == nil && os.SameFile(now, e.opened) {
		return nil
	}
	return fmt.Errorf("%w: its file was removed or replaced: %s", ErrDamaged, e.path)
}

func (e *sqlite3) read(ctx context.Context, work func(session) error) error {
	tx, err := e.readers.BeginTx(ctx, nil)
	if err != nil {
		return describeSQLiteError(err)
	}
	err = work(&sqliteSession{e.statements, tx, map[string]*sql.Stmt{}, nil})
	return errors.Join(describeSQLiteError(err), tx.Rollback())
}

func (e *sqlite3) allowLong() {}

// shrunkPages limits a step.
const shrunkPages = 10_000

func (e *sqlite3) shrink(ctx context.Context) error {
	_, err := e.writer.ExecContext(ctx, fmt.Sprintf("pragma incremental_vacuum(%d)", shrunkPages))
	return describeSQLiteError(err)
}

func (e *sqlite3) close() error {
	var err error
	if e.writer != nil {
		err = errors.Join(e.closeBulk(), e.writer.Close())
	}
	if e.files != nil {
		err = errors.Join(err, e.files.Close())
	}
	return errors.Join(err, e.readers.Close())
}

type sqliteSession struct {
	statements map[string]string
	on         preparer
	prepared   map[string]*sql.Stmt // statements on it
	// writer is set for a writing transaction. Cancelable statements cost more, so only the start
	// of each checks the context.
	writer *sqlite3
}

type preparer interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}

func (s *sqliteSession) prepare(ctx context.Context, name string) (*sql.Stmt, context.Context, error) {
	if s.writer != nil {
		err := ctx.Err()
		if err != nil {
			return nil, ctx, err
		}
		ctx = context.WithoutCancel(ctx)
	}
	known := s.prepared[name]
	if known != nil {
		return known, ctx, nil
	}
	text, ok := s.statements[name]
	if !ok {
		return nil, ctx, fmt.Errorf("there is no statement %s", name)
	}
	stmt, err := s.on.PrepareContext(ctx, text)
	if err != nil {
		return nil, ctx, fmt.Errorf("prepare %s: %w", name, err)
	}
	s.prepared[name] = stmt
	return stmt, ctx, nil
}

func (s *sqliteSession) exec(ctx context.Context, statement string, args ...any) error {
	stmt, ctx, err := s.prepare(ctx, statement)
	if err != nil {
		return err
	}
	if _, err := stmt.ExecContext(ctx, args...); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (s *sqliteSession) query(ctx context.Context, statement string, args []any, each func(scan scanFunc) error) error {
	stmt, ctx, err := s.prepare(ctx, statement)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (s *sqliteSession) queryEach(ctx context.Context, statement string, ids []int64, each func(scan scanFunc) error) error {
	for _, id := range ids {
		err := s.query(ctx, statement, []any{id}, each)
		if err != nil {
			return err
		}
	}
	return nil
}

func describeSQLiteError(err error) error {
	var found *sqlite.Error
	if !errors.As(err, &found) {
		return err
	}
	switch found.Code() & 0xff { // without extended codes
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

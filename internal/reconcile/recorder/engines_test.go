package recorder_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// testStore is the store of a test, as programs other than the Recorder see it.
type testStore interface {
	// set has a Recorder use the store.
	set(*recorder.Options)
	open() *ledgerdb.Store
	// lose loses all that is stored.
	lose()
	// change runs statements.
	change(statements string)
}

// onBothEngines runs a test with stores in SQLite and in PostgreSQL.
func onBothEngines(t *testing.T, name string, test func(t *testing.T, newStore func(*testing.T) testStore)) {
	t.Run("SQLite/"+name, func(t *testing.T) { test(t, newSQLiteStore) })
	t.Run("PostgreSQL/"+name, func(t *testing.T) { test(t, newPostgresStore) })
}

// sqliteStore is a store in a file.
type sqliteStore struct {
	*testing.T
	path string
}

func newSQLiteStore(t *testing.T) testStore {
	return &sqliteStore{t, filepath.Join(t.TempDir(), "ledger.db")}
}

func (s *sqliteStore) set(o *recorder.Options) { o.Path = s.path }

func (s *sqliteStore) open() *ledgerdb.Store {
	store, err := ledgerdb.OpenSQLite(s.Context(), s.path)
	if err != nil {
		s.Fatal(err)
	}
	return store
}

func (s *sqliteStore) lose() {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Remove(s.path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.Fatal(err)
		}
	}
}

func (s *sqliteStore) change(statements string) {
	s.Helper()
	db, err := sql.Open("sqlite", s.path)
	if err == nil {
		_, err = db.Exec(statements)
	}
	err = errors.Join(err, db.Close())
	if err != nil {
		s.Fatal(err)
	}
}

// postgresStore is a store in a database of PostgreSQL.
type postgresStore struct {
	*testing.T
	db *pgtest.Database
}

func newPostgresStore(t *testing.T) testStore { return &postgresStore{t, pgtest.Create(t)} }

func (s *postgresStore) set(o *recorder.Options) {
	o.Postgres = func() (string, error) { return s.db.Address, nil }
}

func (s *postgresStore) open() *ledgerdb.Store {
	store, err := ledgerdb.OpenPostgres(s.Context(), s.db.Address)
	if err != nil {
		s.Fatal(err)
	}
	return store
}

func (s *postgresStore) lose() { s.change("drop schema public cascade; create schema public") }

func (s *postgresStore) change(statements string) {
	s.Helper()
	s.db.Exec(statements)
}

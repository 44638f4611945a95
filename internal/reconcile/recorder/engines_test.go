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
	// empty removes all that is stored, as if nothing had ever been.
	empty()
	// change runs statements.
	change(statements string)
	// goAway lets nothing be written until comeBack.
	goAway()
	comeBack()
	// shut keeps the store from being opened until restore is called.
	shut() (restore func())
	// refuseStates lets no state and no span be written.
	refuseStates()
	// makeNewer makes it one of a newer program.
	makeNewer()
	// dump returns what is stored of clusters, as text.
	dump() string
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

func (s *sqliteStore) empty() { s.lose() }

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

func (s *sqliteStore) goAway() {
	s.change("create trigger away before insert on span begin select raise(fail, 'away'); end")
}

func (s *sqliteStore) comeBack() { s.change("drop trigger away") }

func (s *sqliteStore) shut() (restore func()) {
	aside := s.path + ".away"
	err := os.Rename(s.path, aside)
	if err == nil {
		err = os.Mkdir(s.path, 0o700)
	}
	if err != nil {
		s.Fatal(err)
	}
	return func() {
		err := os.Remove(s.path)
		if err == nil {
			err = os.Rename(aside, s.path)
		}
		if err != nil {
			s.Fatal(err)
		}
	}
}

func (s *sqliteStore) refuseStates() {
	s.change("create trigger quiet before update on state begin select raise(fail, 'written'); end; " +
		"create trigger still before insert on span begin select raise(fail, 'written'); end")
}

func (s *sqliteStore) makeNewer() { s.change("pragma user_version = 9999") }

func (s *sqliteStore) dump() string {
	text, err := os.ReadFile(s.path)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// postgresStore is a store in a database of PostgreSQL.
type postgresStore struct {
	*testing.T
	db *pgtest.Database
}

func newPostgresStore(t *testing.T) testStore {
	return &postgresStore{t, pgtest.CreateWithTables(t, emptyTables)}
}

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

// emptyTables leaves what the migrations have made: to make it again takes longer than all that most
// cases have stored.
const emptyTables = `set session_replication_role = replica;
do $$
declare r record;
begin
	for r in select oid::regclass as name, relkind from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname <> 'schema_version' loop
		if r.relkind = 'r' then
			execute 'delete from ' || r.name;
		else
			perform setval(r.name, 1, false);
		end if;
	end loop;
	if to_regclass('retention') is not null then
		insert into retention(id, round) values (1, 0);
	end if;
end $$`

func (s *postgresStore) empty() {
	s.Helper()
	s.db.Exec(emptyTables)
}

func (s *postgresStore) change(statements string) {
	s.Helper()
	s.db.ForgetTables()
	s.db.Exec(statements)
}

func (s *postgresStore) goAway()   { s.db.CutOff() }
func (s *postgresStore) comeBack() { s.db.LetIn() }

func (s *postgresStore) shut() (restore func()) {
	s.db.CutOff()
	return s.db.LetIn
}

func (s *postgresStore) refuseStates() {
	s.change("create function refuse() returns trigger language plpgsql as 'begin raise exception ''written''; end';" +
		"create trigger quiet before update on state for each row execute function refuse();" +
		"create trigger still before insert on span for each row execute function refuse()")
}

func (s *postgresStore) makeNewer() { s.change("update schema_version set version = 9999") }

func (s *postgresStore) dump() string {
	return s.db.Query("select string_agg(c::text, ' ' order by id) from cluster c") + s.db.Query("select string_agg(s::text, ' ' order by object, since) from span s")
}

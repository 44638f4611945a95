package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// storedVersion is a migrator of nothing but the number and the names of what was run.
type storedVersion struct {
	number int
	ran    []string
}

func (s *storedVersion) version(context.Context) (int, error) { return s.number, nil }

func (s *storedVersion) migrate(_ context.Context, text string) error {
	s.ran = append(s.ran, text)
	return nil
}

func (s *storedVersion) setVersion(_ context.Context, version int) error {
	s.number = version
	return nil
}

// TestRunAfter: a database gets what comes after its version; what is newer, or from before the first migration, is left.
func TestRunAfter(t *testing.T) {
	all := []migration{{16, "0016_schema", "schema"}, {17, "0017_more", "more"}}
	for version, want := range map[int]struct {
		ran   []string
		after int
		fails bool
	}{
		0:  {[]string{"schema", "more"}, 17, false},
		1:  {nil, 1, true},
		15: {nil, 15, true},
		16: {[]string{"more"}, 17, false},
		17: {nil, 17, false},
		18: {nil, 18, true},
	} {
		m := &storedVersion{number: version}
		err := runAfter(t.Context(), m, all)
		if (err != nil) != want.fails || errors.Is(err, ErrNewer) != (version == 18) || m.number != want.after || !slices.Equal(m.ran, want.ran) {
			t.Errorf("from %d: %v were run, the version is %d, error: %v", version, m.ran, m.number, err)
		}
	}
}

// TestVersions: a database of the version before is not read until a daemon has opened it.
func TestVersions(t *testing.T) {
	for version, want := range map[int]error{15: ErrOlder, 16: nil, 17: ErrNewer} {
		if err := compareVersion(version, 16); !errors.Is(err, want) {
			t.Errorf("%d: %v", version, err)
		}
	}
	t.Run("SQLite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ledger.db")
		db, err := sql.Open("sqlite", file)
		if err == nil {
			_, err = db.Exec("create table cluster(id integer primary key); pragma user_version = 15")
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSQLite(t.Context(), file); !errors.Is(err, ErrOlder) {
			t.Errorf("it is read with %v", err)
		}
		if store, err := OpenSQLite(t.Context(), file); err == nil {
			t.Errorf("a schema from before the first release is used (%v)", store.Close())
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		db := pgtest.Create(t)
		db.Exec("create table schema_version(version bigint not null); insert into schema_version(version) values (15)")
		if _, err := ReadPostgres(t.Context(), db.Address); !errors.Is(err, ErrOlder) {
			t.Errorf("it is read with %v", err)
		}
		if store, err := OpenPostgres(t.Context(), db.Address); err == nil {
			t.Errorf("a schema from before the first release is used (%v)", store.Close())
		}
	})
}

// TestNumbersOfMigrations: no two migrations have one number, or it would be chance which of them comes
// first, and databases would have done others than they count.
func TestNumbersOfMigrations(t *testing.T) {
	for _, engine := range []string{sqliteFiles, postgresFiles} {
		all, err := readMigrations(engine)
		if err != nil {
			t.Fatal(err)
		}
		last := "0000"
		for _, m := range all {
			number, _, _ := strings.Cut(m.name, "_")
			if len(number) != 4 || number <= last {
				t.Errorf("%s: the migration %s comes after %s", engine, m.name, last)
			}
			last = number
		}
	}
}

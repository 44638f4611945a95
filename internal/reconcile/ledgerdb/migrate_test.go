package ledgerdb

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// oldCluster is a cluster as the first version of the schema has it.
const oldCluster = `insert into cluster(id, first_name, name, uid, environment, cluster_type, platform, unproven, every, first_seen, last_seen, rival, rival_seen,
	boot, sequence, sent, agent_seen, digest, generation) values (1, 'e1', 'e1', '', 'prod', 'large', '', '0', 60, 1, 2, '', 0, '', 0, 0, 0, '', 1);
	insert into cluster_name(cluster, since, name) values (1, 1, 'e1')`

// TestMigrate: a database of the first version of the schema keeps what it has when it gets the newest
// one.
func TestMigrate(t *testing.T) {
	check := func(t *testing.T, store *Store, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		known := ledger.New(10)
		if err := store.Load(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		c := known.FindCluster("e1")
		if c == nil {
			t.Fatal("the cluster is lost")
		}
		if diff := cmp.Diff(ledger.Group{Environment: "prod", ClusterType: "large"}, c.Group); diff != "" {
			t.Error(diff)
		}
	}
	t.Run("SQLite", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ledger.db")
		db, err := sql.Open("sqlite", file)
		if err == nil {
			_, err = db.Exec(oldSchema(t, sqliteFiles) + oldCluster + "; pragma user_version = 1")
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		store, err := OpenSQLite(t.Context(), file)
		check(t, store, err)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		db := pgtest.Create(t)
		db.Exec(oldSchema(t, postgresFiles) + oldCluster + "; create table schema_version(version bigint not null); insert into schema_version(version) values (1)")
		_, err := ReadPostgres(t.Context(), db.Address)
		if err == nil {
			t.Error("what no daemon has brought forward is read")
		}
		store, err := OpenPostgres(t.Context(), db.Address)
		check(t, store, err)
	})
}

// oldSchema returns the statements of the first migration.
func oldSchema(t *testing.T, engine string) string {
	t.Helper()
	all, err := readMigrations(engine)
	if err != nil {
		t.Fatal(err)
	}
	return all[0].text
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

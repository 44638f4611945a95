package ledgerdb_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// largeFleet returns the statements for clusters of 20 types, each with a platform object and 20 others.
func largeFleet(clusters int) string {
	return strings.ReplaceAll(`
with recursive n(i) as (select 1 union all select i + 1 from n where i < CLUSTERS)
insert into cluster(id, first_name, name, uid, environment, cluster_type, platform, unproven, every, first_seen, last_seen, rival, rival_seen, boot, sequence, sent, agent_seen, digest)
select i, 'c' || i, 'c' || i, 'u' || i, case when i % 2 = 0 then 'prod' else 'stage' end, 't' || (i % 20), 'Kustomization/flux-system/platform', false, 60, 1795430000, 1795437000, '', 0, '1', 1, 0, 1795437000, 'd' from n;
insert into cluster_name(cluster, since, until, name) select id, 1795430000, null, name from cluster;
insert into environment(id, name, repo, branch, folder) values (1, 'stage', 'r', 'stage', '.'), (2, 'prod', 'r', 'prod', '.');
with recursive n(i) as (select 0 union all select i + 1 from n where i < 19)
insert into cluster_type(id, environment, name) select e.id * 100 + i, e.id, 't' || i from n, environment e;
insert into output(id, environment, seq, line, sha, base, plane, merged) select id, id, 1, 1, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '', '', 1795430000 from environment;
insert into desired_type(cluster_type, from_seq, folder) select id, 1, 'f' from cluster_type;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20)
insert into assignment(id, cluster_type, target) select t.id * 100 + i, t.id, 'w' || i from cluster_type t, n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20)
insert into part(file, object, repo, ref, path) select i, 'Kustomization/flux-system/w' || i, 'r', 'main', 'deploy' from n;
insert into desired(assignment, from_seq, to_seq, file) select id, 1, null, id % 100 from assignment;
insert into revision(id, text, sha) values (1, 'main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'), (2, 'main@sha1:2222222222222222222222222222222222222222', '2222222222222222222222222222222222222222');
with recursive n(i) as (select 0 union all select i + 1 from n where i < 20)
insert into object(id, cluster, name) select c.id * 4096 + i, c.id, case when i = 0 then 'Kustomization/flux-system/platform' else 'Kustomization/flux-system/w' || i end from cluster c, n;
insert into state(object, cluster, phase, revision, since, said, level) select id, cluster, case when name like '%platform' and cluster % 10 = 0 then 3 else 2 end, case when name like '%platform' then 1 else 2 end, 1795431000, 1795431000, true from object;
insert into span(object, since, phase, revision) select object, since, phase, revision from state;
insert into arrival(output, cluster, ready) select case when environment = 'prod' then 2 else 1 end, id, 1795431000 from cluster;`, "CLUSTERS", strconv.Itoa(clusters))
}

// fleetTime is when questions about the large fleet are asked.
func fleetTime() time.Time { return time.Unix(1795437060, 0) }

func newCostView(known *recorder.Recorder, store *ledgerdb.Store) *fleetview.View {
	return &fleetview.View{Ledger: known, Now: fleetTime, Ask: func(_ context.Context, question func(*ledgerdb.Store) error) error { return question(store) }}
}

// question is a question of the page or of the fleet command, and what it costs at most.
type question struct {
	name, query string
	statements  int
	rows        [2]int     // that the statements return and the ids that they are given: of any fleet, and of 100 clusters more
	read        float64    // that PostgreSQL reads, in all rows of state
	scans       [2]float64 // processor time of SQLite and of PostgreSQL, which BenchmarkQuestions measures, in scans of state
}

var questions = []question{
	{"the page", "", 10, [2]int{85, 50}, 0.2, [2]float64{1, 3}},
	{"standing", "", 10, [2]int{85, 50}, 0.2, [2]float64{1, 3}},
	{"clusters", "environment=prod", 4, [2]int{43, 0}, 0.01, [2]float64{1, 2}},
	{"behind", "environment=prod", 4, [2]int{43, 0}, 0.01, [2]float64{1, 2}},
	{"where", "workload=w1", 6, [2]int{26, 100}, 0.04, [2]float64{1, 1}},
	{"where", "workload=w1&at=2026-11-23T13:00:00Z", 5, [2]int{24, 100}, 0.05, [2]float64{1, 1}},
	{"history", "workload=w1", 5, [2]int{24, 100}, 1.5, [2]float64{1, 3}},
	{"compare", "environment=stage&with=prod", 22, [2]int{4, 0}, 0.01, [2]float64{1.5, 4}},
	{"lead", "environment=prod", 5, [2]int{4, 50}, 0.2, [2]float64{1, 1}},
	{"dora", "", 11, [2]int{46, 100}, 0.4, [2]float64{1, 1}},
	{"drift", "environment=prod", 5, [2]int{443, 0}, 0.04, [2]float64{1, 2}},
}

// ask asks a question.
func ask(t testing.TB, view *fleetview.View, q question) error {
	if q.name == "the page" {
		_, err := view.FindOverviews(t.Context(), 100)
		return err
	}
	values, err := url.ParseQuery(q.query)
	check(t, err)
	_, err = view.Answer(t.Context(), q.name, values)
	return err
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// growing matches a scan of a table that grows with the fleet.
var growing = regexp.MustCompile(`^(cluster|object|state|span|arrival|assignment|desired|part|evidence|revision|message)\b`)

// TestCost counts what each question asks of the ledger: the statements do not grow with the fleet, none scans a table
// that does, and the rows grow with it as little as they must.
func TestCost(t *testing.T) {
	for _, clusters := range []int{100, 400} {
		path := filepath.Join(t.TempDir(), "ledger.db")
		check(t, recorder.Open(t.Context(), recorder.Options{Path: path, Now: fleetTime, Logger: slog.New(slog.DiscardHandler)}).Close())
		db, err := sql.Open("sqlite", path)
		check(t, err)
		_, err = db.ExecContext(t.Context(), largeFleet(clusters))
		check(t, errors.Join(err, db.Close()))
		known, err := recorder.Read(t.Context(), path, fleetTime)
		check(t, err)
		for _, q := range questions {
			store, err := ledgerdb.ReadSQLite(t.Context(), path)
			check(t, err)
			counts := ledgerdb.CountStatements(store)
			check(t, errors.Join(ask(t, newCostView(known, store), q), store.Close()))
			if len(counts.Statements) > q.statements {
				t.Errorf("%d clusters, %s?%s: %d statements, want %d: %q", clusters, q.name, q.query, len(counts.Statements), q.statements, counts.Statements)
			}
			if most := q.rows[0] + q.rows[1]*clusters/100; counts.Rows > most {
				t.Errorf("%d clusters, %s?%s: %d rows, want %d", clusters, q.name, q.query, counts.Rows, most)
			}
			if at := slices.IndexFunc(counts.Scans, growing.MatchString); at >= 0 {
				t.Errorf("%d clusters, %s?%s: it scans %s", clusters, q.name, q.query, counts.Scans[at])
			}
		}
	}
}

// TestRowsRead counts the rows that PostgreSQL reads for each question about 10,000 clusters with 210,000 objects.
func TestRowsRead(t *testing.T) {
	db := pgtest.Create(t)
	known := fillPostgres(t, db)
	if version, err := strconv.Atoi(db.Query("show server_version_num")); err != nil || version < 150_000 {
		t.Skip("before PostgreSQL 15, what a connection has read is not known when it has ended: ", version, err)
	}
	const counters = `select (select sum(seq_tup_read) from pg_stat_user_tables) + (select sum(idx_tup_read) from pg_stat_user_indexes)`
	read := func() float64 {
		n, err := strconv.ParseFloat(db.Query(counters), 64)
		check(t, err)
		return n
	}
	states := 210_000.0
	for _, q := range questions {
		store, err := ledgerdb.ReadPostgres(t.Context(), db.Address)
		check(t, err)
		before := read()
		check(t, errors.Join(ask(t, newCostView(known, store), q), store.Close()))
		for tick := time.Tick(10 * time.Millisecond); db.Query("select count(*) from pg_stat_activity where datname = current_database()") != "1"; {
			<-tick // a connection that ends counts what it has read
		}
		scanned := (read() - before) / states
		t.Logf("%s?%s: %.3f of all states", q.name, q.query, scanned)
		if scanned > q.read {
			t.Errorf("%s?%s reads %.2f times the rows of all states, want %.2f", q.name, q.query, scanned, q.read)
		}
	}
}

// fillPostgres fills a database with a large fleet, and has it answer each question with one process.
func fillPostgres(t testing.TB, db *pgtest.Database) *recorder.Recorder {
	t.Helper()
	address := func() (string, error) { return db.Address, nil }
	check(t, recorder.Open(t.Context(), recorder.Options{Postgres: address, Now: fleetTime, Logger: slog.New(slog.DiscardHandler)}).Close())
	db.Exec(largeFleet(10_000) + "; do $$ begin execute format('alter database %I set max_parallel_workers_per_gather = 0', current_database()); end $$")
	db.Exec("vacuum analyze")
	known, err := recorder.ReadShared(t.Context(), address, fleetTime)
	check(t, err)
	return known
}

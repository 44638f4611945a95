package fleetview_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

// largeFleet has 10,000 clusters of 20 types, each with a platform object and 20 others.
const largeFleet = `
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
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
insert into arrival(output, cluster, ready) select case when environment = 'prod' then 2 else 1 end, id, 1795431000 from cluster;`

// costRig is a large fleet, and what tells how much processor time is taken.
type costRig struct {
	engine int // among the bars
	view   *fleetview.View
	scan   func() error         // reads all states once
	used   func() time.Duration // by this process, and by the database
}

const scanStates = "select count(*) from (select cluster, phase, revision, count(*) from state group by cluster, phase, revision) states"

// fleetTime is when questions about the large fleet are asked.
func fleetTime() time.Time { return time.Unix(1795437060, 0) }

func newLargeSQLite(t testing.TB) costRig {
	path := filepath.Join(t.TempDir(), "ledger.db")
	check(t, recorder.Open(t.Context(), recorder.Options{Path: path, Now: fleetTime, Logger: slog.New(slog.DiscardHandler)}).Close())
	db, err := sql.Open("sqlite", path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), largeFleet)
	check(t, err)
	known, err := recorder.Read(t.Context(), path, fleetTime)
	check(t, err)
	store, err := ledgerdb.ReadSQLite(t.Context(), path)
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(store.Close(), db.Close())) })
	return costRig{
		view: newCostView(known, store), used: func() time.Duration { return processorTime(t) },
		scan: func() error {
			var n int
			return db.QueryRowContext(t.Context(), scanStates).Scan(&n)
		},
	}
}

func newCostView(known *recorder.Recorder, store *ledgerdb.Store) *fleetview.View {
	return &fleetview.View{Ledger: known, Now: fleetTime, Ask: func(_ context.Context, question func(*ledgerdb.Store) error) error { return question(store) }}
}

// newLargePostgres returns the fleet in a PostgreSQL that answers each question with one process.
func newLargePostgres(t testing.TB) costRig {
	db := pgtest.Create(t)
	address := func() (string, error) { return db.Address, nil }
	check(t, recorder.Open(t.Context(), recorder.Options{Postgres: address, Now: fleetTime, Logger: slog.New(slog.DiscardHandler)}).Close())
	db.Exec(largeFleet + "; do $$ begin execute format('alter database %I set max_parallel_workers_per_gather = 0', current_database()); end $$")
	db.Exec("vacuum analyze")
	known, err := recorder.ReadShared(t.Context(), address, fleetTime)
	check(t, err)
	store, err := ledgerdb.ReadPostgres(t.Context(), db.Address)
	check(t, err)
	conn, err := pgx.Connect(t.Context(), db.Address)
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(store.Close(), conn.Close(context.WithoutCancel(t.Context())))) })
	return costRig{
		engine: 1, view: newCostView(known, store),
		scan: func() error {
			var n int
			return conn.QueryRow(t.Context(), scanStates).Scan(&n)
		},
		used: func() time.Duration {
			all := processorTime(t)
			for _, pid := range db.QueryAll("select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()") {
				all += processorTimeOf(t, pid)
			}
			return all
		},
	}
}

// processorTimeOf returns how much processor time another process has taken.
func processorTimeOf(t testing.TB, pid string) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/schedstat")
	if err != nil {
		t.Skip("the processor time of PostgreSQL is not known here: ", err)
	}
	taken, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(taken, 10, 64)
	check(t, err)
	return time.Duration(n)
}

// TestCost: no question about 10,000 clusters with 210,000 objects takes much longer than to read all states
// once, in either engine. Processor time is compared, within one run.
func TestCost(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 210,000 objects")
	}
	t.Run("SQLite", func(t *testing.T) { testCost(t, newLargeSQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { testCost(t, newLargePostgres(t)) })
}

// costs are the questions, and what each takes at most.
var costs = []struct {
	name, query string
	most        [2]float64 // scans of SQLite and of PostgreSQL, which does one in a third of the time
}{
	{"the page", "", [2]float64{1, 3}}, {"standing", "", [2]float64{1, 3}}, {"clusters", "environment=prod", [2]float64{1, 2}}, {"behind", "environment=prod", [2]float64{1, 2}},
	{"where", "workload=w1", [2]float64{1, 1}}, {"where", "workload=w1&at=2026-11-23T13:00:00Z", [2]float64{1, 1}}, {"history", "workload=w1", [2]float64{1, 3}},
	{"compare", "environment=stage&with=prod", [2]float64{1.5, 4}}, {"lead", "environment=prod", [2]float64{1, 1}}, {"dora", "", [2]float64{1, 1}}, {"drift", "environment=prod", [2]float64{1, 2}},
}

func testCost(t *testing.T, of costRig) {
	scan := of.leastCost(t, of.scan)
	for _, c := range costs {
		cost := of.leastCost(t, func() error { return of.ask(t, c.name, c.query) })
		ratio := float64(cost) / float64(scan)
		t.Logf("%s?%s: %.2f of a scan (%v of %v)", c.name, c.query, ratio, cost, scan)
		if ratio > c.most[of.engine] {
			t.Errorf("%s?%s takes %.1f times as long as a scan of all states, and should at most %.1f", c.name, c.query, ratio, c.most[of.engine])
		}
	}
}

// ask asks a question.
func (r costRig) ask(t testing.TB, name, query string) error {
	if name == "the page" {
		_, err := r.view.FindOverviews(t.Context(), 100)
		return err
	}
	values, err := url.ParseQuery(query)
	check(t, err)
	_, err = r.view.Answer(t.Context(), name, values)
	return err
}

// BenchmarkQuestions is the processor time of each question about 10,000 clusters, and how many scans of
// all states that is.
func BenchmarkQuestions(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) { benchmarkQuestions(b, newLargeSQLite(b)) })
	b.Run("PostgreSQL", func(b *testing.B) { benchmarkQuestions(b, newLargePostgres(b)) })
}

func benchmarkQuestions(b *testing.B, of costRig) {
	for _, c := range costs {
		b.Run(c.name+"?"+c.query, func(b *testing.B) {
			var asked, scanned time.Duration
			for b.Loop() {
				start := of.used()
				check(b, of.ask(b, c.name, c.query))
				middle := of.used()
				check(b, of.scan())
				asked, scanned = asked+middle-start, scanned+of.used()-middle
			}
			ratio := float64(asked) / float64(scanned)
			b.ReportMetric(float64(asked.Microseconds())/1000/float64(b.N), "cpu-ms/question")
			b.ReportMetric(ratio, "scans")
			if ratio > c.most[of.engine] {
				b.Errorf("it takes %.1f times as long as a scan of all states, want %.1f at most", ratio, c.most[of.engine])
			}
		})
	}
}

// leastCost returns the least processor time that something takes of some tries.
func (r costRig) leastCost(t testing.TB, do func() error) time.Duration {
	t.Helper()
	least := time.Duration(0)
	for range 5 {
		before := r.used()
		check(t, do())
		took := r.used() - before
		if least == 0 || took < least {
			least = took
		}
	}
	return least
}

func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

package recorder_test

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

const (
	loadClusters = 10_000
	loadObjects  = 20 // of each cluster
	// flushEvery is after how many clusters with all their objects the daemon has so many changes that
	// it writes them.
	flushEvery = 100
	// maxMemory is how many bytes an object may take.
	maxMemory = 150
)

// loadEngine is a database of a benchmark.
type loadEngine struct {
	options recorder.Options
	// insert writes rows of six numbers, as fast as the database does.
	insert func(rows int)
	count  func(query string) int
	// processorTime is what this process and that of the database have used.
	processorTime func() time.Duration
	// most is how much more a change may take than a row of insert.
	most float64
}

// loadEngines are the databases that there are.
var loadEngines = map[string]func(testing.TB) loadEngine{"SQLite": newSQLiteLoad, "PostgreSQL": newPostgresLoad}

// loadWorld is a Recorder that knows the objects of a fleet.
type loadWorld struct {
	testing.TB
	loadEngine
	recorder *recorder.Recorder
	now      time.Time
	round    uint64
	state    uint64 // the round in which something changed last
}

func newLoadWorld(b testing.TB, e loadEngine) *loadWorld {
	b.Helper()
	w := &loadWorld{TB: b, loadEngine: e, now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	e.options.Now, e.options.Logger = func() time.Time { return w.now }, slog.New(slog.DiscardHandler)
	w.recorder = recorder.Open(b.Context(), e.options)
	b.Cleanup(func() { w.check(w.recorder.Close()) })
	w.report(loadObjects)
	return w
}

func (w *loadWorld) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// report lets a minute pass in which so many objects of each cluster become ready at another revision.
func (w *loadWorld) report(changed int) {
	w.Helper()
	w.now = w.now.Add(time.Minute)
	w.round++
	digest := func(round uint64) string { return fmt.Sprint("digest-", round) }
	revision := "main@sha1:" + fmt.Sprintf("%040x", w.round)
	reports := make([]ledger.Report, changed)
	for i := range reports {
		reports[i] = ledger.Report{
			Object: ledger.Object{Name: fmt.Sprintf("Kustomization/flux-system/workload-%02d", i)}, Phase: ledger.Ready, Target: revision, Level: true, Said: w.now,
		}
	}
	for i := range loadClusters {
		name := fmt.Sprintf("cluster-%05d", i)
		c := ledger.Contact{
			Name: name, UID: "uid-" + name, Group: ledger.Group{Environment: "prod", ClusterType: fmt.Sprint("type-", i%200)}, Platform: "Kustomization/flux-system/workload-00",
			Every: time.Minute, Boot: "1", Sequence: w.round, Sent: w.now, Received: w.now, Scope: ledger.Changes, Base: digest(w.state), Digest: digest(w.round),
		}
		switch {
		case w.round == 1:
			c.Scope, c.Base = ledger.Everything, ""
		case changed == 0:
			c.Scope, c.Base, c.Digest = ledger.Nothing, "", digest(w.state)
		}
		receipt, _ := w.recorder.Receive(c, reports)
		if receipt.Admission != ledger.Admitted || receipt.WantsEverything || receipt.Refused > 0 {
			w.Fatalf("%s: %+v", name, receipt)
		}
		if (i+1)%flushEvery == 0 {
			w.check(w.recorder.Flush(w.Context())) // which may end, as that of the daemon
		}
	}
	if changed > 0 {
		w.state = w.round
	}
}

func newSQLiteLoad(b testing.TB) loadEngine {
	path := filepath.Join(b.TempDir(), "ledger.db")
	return loadEngine{
		options: recorder.Options{Path: path}, most: 8,
		insert:        func(rows int) { insertPlain(b, rows) },
		count:         func(query string) int { return countRows(b, path, query) },
		processorTime: func() time.Duration { return processorTime(b) },
	}
}

func newPostgresLoad(b testing.TB) loadEngine {
	db := pgtest.Create(b)
	db.Exec("drop schema if exists plain cascade; create schema plain; create table plain.numbers(a bigint, b bigint, c bigint, d bigint, e bigint, f bigint)")
	return loadEngine{
		options: recorder.Options{Postgres: func() (string, error) { return db.Address, nil }}, most: 30,
		insert: func(rows int) { copyPlain(b, db.Address, rows) },
		count: func(query string) int {
			n, err := strconv.Atoi(db.Query(query))
			check(b, err)
			return n
		},
		processorTime: func() time.Duration { return processorTime(b) + db.ProcessorTime() },
	}
}

func check(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// plainRow returns the numbers of a row.
func plainRow(i int) []any { return []any{i, i % loadClusters, 2, i / 7, 1_795_000_000 + i, i % 3} }

// insertPlain writes rows to a new file, which is the least that SQLite can do.
func insertPlain(b testing.TB, rows int) {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "plain.db"))
	check(b, err)
	_, err = db.Exec("pragma journal_mode=wal; pragma synchronous=normal; create table plain(a integer, b integer, c integer, d integer, e integer, f integer)")
	tx, failed := db.Begin()
	check(b, errors.Join(err, failed))
	into, err := tx.Prepare("insert into plain values(?, ?, ?, ?, ?, ?)")
	for i := 0; i < rows && err == nil; i++ {
		_, err = into.Exec(plainRow(i)...)
	}
	check(b, errors.Join(err, tx.Commit(), db.Close()))
}

// copyPlain copies rows to a new table, which is the least that PostgreSQL can do.
func copyPlain(b testing.TB, address string, rows int) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), address)
	check(b, err)
	_, err = conn.Exec(b.Context(), "truncate plain.numbers")
	check(b, err)
	_, err = conn.CopyFrom(b.Context(), pgx.Identifier{"plain", "numbers"}, []string{"a", "b", "c", "d", "e", "f"},
		pgx.CopyFromSlice(rows, func(i int) ([]any, error) { return plainRow(i), nil }))
	check(b, errors.Join(err, conn.Close(b.Context())))
}

// processorTime returns what this process has used of processors.
func processorTime(b testing.TB) time.Duration {
	b.Helper()
	var u syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// countRows returns how many rows a query counts.
func countRows(b testing.TB, path, query string) (n int) {
	b.Helper()
	db, err := sql.Open("sqlite", path)
	check(b, err)
	check(b, errors.Join(db.QueryRow(query).Scan(&n), db.Close()))
	return n
}

// BenchmarkFleet is a minute of 10,000 clusters with 20 objects each: folded, and written to the store as
// the daemon does. It fails if that takes far more processor time than a plain insert of as many rows, or
// if anything but last contacts is written while nothing changes.
func BenchmarkFleet(b *testing.B) {
	for _, engine := range slices.Sorted(maps.Keys(loadEngines)) {
		for _, c := range []struct {
			name    string
			changed int     // objects of each cluster
			most    float64 // how much more a change may take than one of all
		}{{"nothing", 0, 1}, {"roll-out-of-50,000", 5, 2.5}, {"all-200,000", loadObjects, 1}} {
			b.Run(engine+"/"+c.name, func(b *testing.B) {
				w := newLoadWorld(b, loadEngines[engine](b))
				w.most *= c.most
				measureMinute(b, w, c.changed)
			})
		}
	}
}

func measureMinute(b *testing.B, w *loadWorld, changed int) {
	rows := loadClusters * changed
	var folded, plain time.Duration
	spans := w.count("select count(*) from span")
	for b.Loop() {
		start := w.processorTime()
		w.report(changed)
		middle := w.processorTime()
		w.insert(max(rows, loadClusters))
		folded, plain = folded+middle-start, plain+w.processorTime()-middle
	}
	b.ReportMetric(float64(folded.Milliseconds())/float64(b.N), "cpu-ms/minute")
	if rows == 0 {
		after := w.count("select count(*) from span")
		if after != spans {
			b.Errorf("%d spans were written while nothing changed", after-spans)
		}
		b.ReportMetric(float64(folded.Microseconds())/float64(b.N)/loadClusters, "cpu-µs/cluster")
		return
	}
	ratio := float64(folded) / float64(plain)
	b.ReportMetric(float64(folded.Microseconds())/float64(b.N)/float64(rows), "cpu-µs/change")
	b.ReportMetric(ratio, "times-plain-insert")
	if ratio > w.most {
		b.Errorf("a change takes %.1f times what a plain row takes, want %g at most", ratio, w.most)
	}
}

// BenchmarkMemory is what the objects of 10,000 clusters take of memory.
func BenchmarkMemory(b *testing.B) {
	inUse := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // names are freed in two
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for b.Loop() {
		before := inUse()
		w := newLoadWorld(b, newSQLiteLoad(b))
		each := (inUse() - before) / (loadClusters * loadObjects)
		runtime.KeepAlive(w)
		b.ReportMetric(each, "B/object")
		if each > maxMemory {
			b.Errorf("an object takes %.0f bytes, want %d at most", each, maxMemory)
		}
	}
}

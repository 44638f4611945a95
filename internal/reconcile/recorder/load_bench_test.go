package recorder_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

const (
	loadClusters = 10_000
	loadObjects  = 20 // of each cluster
	// flushEvery is after how many clusters with all their objects the daemon has so many changes that
	// it writes them.
	flushEvery = 100
	// maxTimesInsert is how much more a change may take than a plain insert of a row. BENCHMARKS.md
	// has the figures, and what is wanted.
	maxTimesInsert = 25
)

// loadWorld is a Recorder that knows the objects of a fleet.
type loadWorld struct {
	testing.TB
	recorder *recorder.Recorder
	path     string
	now      time.Time
	round    uint64
	state    uint64 // the round in which something changed last
}

func newLoadWorld(b testing.TB) *loadWorld {
	b.Helper()
	w := &loadWorld{TB: b, path: filepath.Join(b.TempDir(), "ledger.db"), now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	w.recorder = recorder.Open(b.Context(), recorder.Options{Path: w.path, Now: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler)})
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
			w.check(w.recorder.Flush(context.Background()))
		}
	}
	if changed > 0 {
		w.state = w.round
	}
}

// insert writes so many rows of six numbers to a new file, which is the least that a store can do.
func insert(b testing.TB, rows int) {
	b.Helper()
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "plain.db"))
	if err != nil {
		b.Fatal(err)
	}
	_, err = db.Exec("pragma journal_mode=wal; pragma synchronous=normal; create table plain(a integer, b integer, c integer, d integer, e integer, f integer)")
	tx, failed := db.Begin()
	if err = errors.Join(err, failed); err != nil {
		b.Fatal(err)
	}
	into, err := tx.Prepare("insert into plain values(?, ?, ?, ?, ?, ?)")
	for i := 0; i < rows && err == nil; i++ {
		_, err = into.Exec(i, i%loadClusters, 2, i/7, 1_795_000_000+i, i%3)
	}
	err = errors.Join(err, tx.Commit(), db.Close())
	if err != nil {
		b.Fatal(err)
	}
}

// cpuTime returns what this process has used of processors.
func cpuTime(b testing.TB) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// count returns how many rows a query counts.
func (w *loadWorld) count(query string) (n int) {
	w.Helper()
	db, err := sql.Open("sqlite", w.path)
	w.check(err)
	defer db.Close()
	w.check(db.QueryRow(query).Scan(&n))
	return n
}

// BenchmarkFleet is a minute of 10,000 clusters with 20 objects each: folded, and written to the store as
// the daemon does. It fails if that takes far more CPU than a plain insert of as many rows, or if anything but last contacts is written while nothing changes.
func BenchmarkFleet(b *testing.B) {
	for _, c := range []struct {
		name    string
		changed int // objects of each cluster
	}{{"nothing", 0}, {"roll-out of 50,000", 5}, {"all 200,000", loadObjects}} {
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			w := newLoadWorld(b)
			rows := loadClusters * c.changed
			var folded, plain time.Duration
			spans := w.count("select count(*) from span")
			for b.Loop() {
				start := cpuTime(b)
				w.report(c.changed)
				middle := cpuTime(b)
				insert(b, max(rows, loadClusters))
				folded, plain = folded+middle-start, plain+cpuTime(b)-middle
			}
			b.ReportMetric(float64(folded.Milliseconds())/float64(b.N), "cpu-ms/minute")
			if rows == 0 {
				if after := w.count("select count(*) from span"); after != spans {
					b.Errorf("%d spans were written while nothing changed", after-spans)
				}
				b.ReportMetric(float64(folded.Microseconds())/float64(b.N)/loadClusters, "cpu-µs/cluster")
				return
			}
			ratio := float64(folded) / float64(plain)
			b.ReportMetric(float64(folded.Microseconds())/float64(b.N)/float64(rows), "cpu-µs/change")
			b.ReportMetric(ratio, "times-plain-insert")
			if ratio > maxTimesInsert {
				b.Errorf("it takes %.1f times what a plain insert takes, want %d at most", ratio, maxTimesInsert)
			}
		})
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
		w := newLoadWorld(b)
		b.ReportMetric((inUse()-before)/(loadClusters*loadObjects), "B/object")
		runtime.KeepAlive(w)
	}
}

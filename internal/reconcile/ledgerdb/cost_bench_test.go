package ledgerdb_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
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

// costRig is a large fleet, and what tells how much processor time is taken.
type costRig struct {
	engine int // among the bars
	view   *fleetview.View
	scan   func() error         // reads all states once
	used   func() time.Duration // by this process, and by the database
}

const scanStates = "select count(*) from (select cluster, phase, revision, count(*) from state group by cluster, phase, revision) states"

func newLargeSQLite(t testing.TB) costRig {
	path := filepath.Join(t.TempDir(), "ledger.db")
	check(t, recorder.Open(t.Context(), recorder.Options{Path: path, Now: fleetTime, Logger: slog.New(slog.DiscardHandler)}).Close())
	db, err := sql.Open("sqlite", path)
	check(t, err)
	_, err = db.ExecContext(t.Context(), largeFleet(10_000))
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

// newLargePostgres returns the fleet in a PostgreSQL that answers each question with one process.
func newLargePostgres(t testing.TB) costRig {
	db := pgtest.Create(t)
	known := fillPostgres(t, db)
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

// BenchmarkQuestions is the processor time of each question about 10,000 clusters, and how many scans of
// all states that is.
func BenchmarkQuestions(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) { benchmarkQuestions(b, newLargeSQLite(b)) })
	b.Run("PostgreSQL", func(b *testing.B) { benchmarkQuestions(b, newLargePostgres(b)) })
}

func benchmarkQuestions(b *testing.B, of costRig) {
	for _, c := range questions {
		b.Run(c.name+"?"+c.query, func(b *testing.B) {
			var asked, scanned time.Duration
			for b.Loop() {
				start := of.used()
				check(b, ask(b, of.view, c))
				middle := of.used()
				check(b, of.scan())
				asked, scanned = asked+middle-start, scanned+of.used()-middle
			}
			ratio := float64(asked) / float64(scanned)
			b.ReportMetric(float64(asked.Microseconds())/1000/float64(b.N), "cpu-ms/question")
			b.ReportMetric(ratio, "scans")
			if ratio > c.scans[of.engine] {
				b.Errorf("it takes %.1f times as long as a scan of all states, want %.1f at most", ratio, c.scans[of.engine])
			}
		})
	}
}

func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	check(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

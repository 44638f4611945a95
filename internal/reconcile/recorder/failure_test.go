package recorder_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// rig is a Recorder with a clock and a log.
type rig struct {
	*testing.T
	store    testStore
	mark     string // the file; "" for none
	changed  func()
	now      time.Time
	log      bytes.Buffer
	recorder *recorder.Recorder
}

func newRig(t *testing.T, newStore func(*testing.T) testStore) *rig {
	return &rig{T: t, store: newStore(t), now: noon}
}

func (r *rig) open() {
	r.Helper()
	r.openWith(func(*recorder.Options) {})
}

func (r *rig) openWith(change func(*recorder.Options)) {
	r.Helper()
	o := recorder.Options{Mark: r.mark, Changed: r.changed, Now: func() time.Time { return r.now }, Logger: slog.New(slog.NewTextHandler(&r.log, nil))}
	r.store.set(&o)
	change(&o)
	r.recorder = recorder.Open(r.Context(), o)
	r.Cleanup(func() { _ = r.recorder.Close() })
}

// report reports a state of the object P of a cluster, a minute after the last one.
func (r *rig) report(cluster, phase, revision string) {
	r.Helper()
	r.now = r.now.Add(time.Minute)
	c := ledger.Contact{Name: cluster, Group: ledger.Group{Environment: "prod", ClusterType: "large"}, Platform: "P", Every: time.Minute, Received: r.now}
	receipt, _ := r.recorder.Receive(c, []ledger.Report{{Object: ledger.Object{Name: "P"}, Phase: ledger.ParsePhase(phase), Target: revision, Said: r.now}})
	if receipt.Admission != ledger.Admitted {
		r.Fatal(receipt.Admission)
	}
}

// stored returns what the store says that a cluster ran and runs.
func (r *rig) stored(cluster string) string {
	r.Helper()
	s := r.store.open()
	defer func() { _ = s.Close() }()
	spans, err := s.FindHistory(r.Context(), ledger.Object{Cluster: cluster, Name: "P"})
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, s := range spans {
		until := ""
		if !s.Until.IsZero() {
			until = s.Until.Format("15:04")
		}
		all = append(all, s.Since.Format("15:04")+"-"+until+" "+s.Phase.String()+" "+s.Target())
	}
	return strings.Join(all, ", ")
}

func (r *rig) wantStored(cluster, want string) {
	r.Helper()
	if got := r.stored(cluster); got != want {
		r.Errorf("of %s is stored: %s\nwant: %s", cluster, got, want)
	}
}

// TestCrash: a process that ends at any time leaves a store that is right after one more round of
// reports.
func TestCrash(t *testing.T) { onBothEngines(t, "", testCrash) }

func testCrash(t *testing.T, newStore func(*testing.T) testStore) {
	r := newRig(t, newStore)
	r.open()
	r.report("e1", "ready", "A")
	r.report("e2", "ready", "A")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.report("e1", "failed", "B") // never written
	crashed := r.recorder
	r.open()
	r.wantStored("e1", "12:01- ready A")
	r.report("e1", "failed", "B")
	r.report("e2", "ready", "B")
	r.report("e3", "ready", "B")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.wantStored("e1", "12:01-12:04 ready A, 12:04- failed B")
	r.wantStored("e2", "12:02-12:05 ready A, 12:05- ready B")
	r.wantStored("e3", "12:06- ready B")
	_ = crashed
}

// TestStoreAway: what cannot be written is held, said, and written when it can.
func TestStoreAway(t *testing.T) { onBothEngines(t, "", testStoreAway) }

func testStoreAway(t *testing.T, newStore func(*testing.T) testStore) {
	r := newRig(t, newStore)
	r.open()
	r.report("e1", "ready", "A")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.store.goAway()
	r.report("e1", "ready", "B")
	logged := 0
	for i := range 4 {
		if err := r.recorder.Flush(t.Context()); err == nil || r.recorder.Check() == nil {
			t.Fatal("a batch that was not written is reported as written")
		}
		n := strings.Count(r.log.String(), "level=ERROR")
		if n == 0 || i > 1 && n != logged {
			t.Errorf("%d errors are logged:\n%s", n, &r.log)
		}
		logged = n
	}
	r.report("e1", "failed", "C")
	r.report("e2", "ready", "B")
	r.store.comeBack()
	if err := errors.Join(r.recorder.Flush(t.Context()), r.recorder.Check()); err != nil {
		t.Fatal(err)
	}
	r.wantStored("e1", "12:01-12:02 ready A, 12:02-12:03 ready B, 12:03- failed C")
	r.wantStored("e2", "12:04- ready B")
	if !strings.Contains(r.log.String(), "stored again") {
		t.Errorf("it is not logged:\n%s", &r.log)
	}
}

// TestRemovedStore: a store whose file is removed while the process runs begins anew with what is known in
// memory, when something is written next.
func TestRemovedStore(t *testing.T) {
	r := newRig(t, newSQLiteStore)
	r.open()
	r.report("e1", "ready", "A")
	r.report("e2", "ready", "A")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := r.store.(*sqliteStore).path
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	r.report("e1", "ready", "B")
	if err := errors.Join(r.recorder.Flush(t.Context()), r.recorder.Check()); err != nil {
		t.Fatal(err)
	}
	r.wantStored("e1", "12:03- ready B")
	r.wantStored("e2", "12:02- ready A")
	if !strings.Contains(r.log.String(), "its file was removed or replaced") {
		t.Errorf("it is not logged:\n%s", &r.log)
	}
}

// TestDamagedStore: a damaged store is moved aside, at the start and while the process runs; what is
// known in memory is written to the new one.
func TestDamagedStore(t *testing.T) {
	r := newRig(t, newSQLiteStore)
	path := r.store.(*sqliteStore).path
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	r.open()
	if err := r.recorder.Check(); err != nil {
		t.Fatal(err)
	}
	r.report("e1", "ready", "A")
	r.report("e2", "ready", "A")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Hour)
	r.store.change("pragma writable_schema = on; update sqlite_master set rootpage = 9999 where name = 'span'; pragma schema_version = 9999")
	r.report("e1", "ready", "B")
	if err := errors.Join(r.recorder.Flush(t.Context()), r.recorder.Check()); err != nil {
		t.Fatal(err)
	}
	r.wantStored("e1", "13:03- ready B")
	r.wantStored("e2", "12:02- ready A")
	aside, err := filepath.Glob(path + ".damaged-*")
	if err != nil || len(aside) < 2 {
		t.Errorf("moved aside are %q, %v", aside, err)
	}
}

// TestNewerStore: a store of a newer program is left alone, and reports count without it.
func TestNewerStore(t *testing.T) { onBothEngines(t, "", testNewerStore) }

func testNewerStore(t *testing.T, newStore func(*testing.T) testStore) {
	r := newRig(t, newStore)
	r.open()
	r.report("e1", "ready", "A")
	if err := r.recorder.Close(); err != nil {
		t.Fatal(err)
	}
	r.store.makeNewer()
	before := r.store.dump()
	r.open()
	if err := r.recorder.Check(); !errors.Is(err, ledgerdb.ErrNewer) {
		t.Error(err)
	}
	r.report("e1", "ready", "B")
	if err := r.recorder.Flush(t.Context()); !errors.Is(err, ledgerdb.ErrNewer) {
		t.Error(err)
	}
	if n := len(r.recorder.Clusters()); n != 1 {
		t.Errorf("%d clusters are known", n)
	}
	if r.store.dump() != before {
		t.Error("the store has changed")
	}
}

// TestQuiet: clusters that say the same again cost no writes but those of when they were last in touch.
func TestQuiet(t *testing.T) { onBothEngines(t, "", testQuiet) }

func testQuiet(t *testing.T, newStore func(*testing.T) testStore) {
	r := newRig(t, newStore)
	r.open()
	r.report("e1", "ready", "A")
	if err := r.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.store.refuseStates()
	for range 60 {
		r.report("e1", "ready", "A")
		if err := r.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.recorder = nil
	r.open()
	if all := r.recorder.Clusters(); len(all) != 1 || !all[0].LastSeen.Equal(r.now) {
		t.Errorf("%+v", all)
	}
}

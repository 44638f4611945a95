package recorder_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// findLoss returns why gates do not decide by what is known; "" if they do.
func (r *rig) findLoss() string {
	loss, lost := r.recorder.FindLoss("prod", r.now.Add(-7*24*time.Hour))
	if !lost {
		return ""
	}
	if loss.IsPending {
		return "pending: " + loss.Reason
	}
	return loss.Reason
}

// TestStoreLost: a store that was emptied, exchanged, or restored from a backup while no process used it
// is a loss to gates, also in the process after the next one. One that has what it had is none.
func TestStoreLost(t *testing.T) { onBothEngines(t, "", testStoreLost) }

func testStoreLost(t *testing.T, newStore func(*testing.T) testStore) {
	for _, c := range []struct {
		name   string
		change func(s testStore)
		want   string
	}{
		{"nothing happened", func(testStore) {}, ""},
		{"emptied", func(s testStore) { s.lose() }, "the database of the ledger was emptied"},
		{"emptied of clusters", func(s testStore) { s.change("delete from cluster") }, "the database of the ledger was emptied"},
		{"another one", func(s testStore) { s.change("update cluster set first_seen = first_seen - 60") }, "the database of the ledger is another one than before"},
		{"from a backup", func(s testStore) { s.change("update cluster set last_seen = last_seen - 86400") },
			"the database of the ledger is as it was on 2026-11-22 12:02 UTC, perhaps from a backup"},
		{"a second behind", func(s testStore) { s.change("update cluster set last_seen = last_seen - 60") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, newStore)
			r.mark = filepath.Join(t.TempDir(), "ledger.mark")
			r.open()
			r.report("e1", "ready", "A")
			r.report("e2", "ready", "A")
			if err := r.recorder.Close(); err != nil {
				t.Fatal(err)
			}
			c.change(r.store)
			for _, process := range []string{"the next process", "the one after"} {
				r.open()
				if got := r.findLoss(); got != c.want {
					t.Errorf("%s finds %q, want %q", process, got, c.want)
				}
				if err := r.recorder.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestSharedStoreLost: a PostgreSQL that loses what was stored while a process uses it gets back what the
// process knows, and that is a loss to gates: what others knew may be missing.
func TestSharedStoreLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s testStore)
		want   string
	}{
		{"emptied", func(s testStore) { s.lose() }, "the database of the ledger was emptied"},
		{"emptied of clusters", func(s testStore) { s.change("truncate cluster, cluster_name, object, state, evidence, span") }, "the database of the ledger was emptied"},
		{"one cluster is lost", func(s testStore) { s.change("delete from cluster where first_name = 'e2'") }, "the database of the ledger has lost what was written last"},
	} {
		for _, reports := range []bool{false, true} {
			r := newRig(t, newPostgresStore)
			r.open()
			r.report("e1", "ready", "A")
			r.report("e2", "ready", "A")
			if err := r.recorder.Flush(t.Context()); err != nil || r.findLoss() != "" {
				t.Fatal(err, r.findLoss())
			}
			c.change(r.store)
			if reports {
				r.report("e1", "ready", "B")
			}
			_ = r.recorder.Flush(t.Context()) // it finds that out
			if err := errors.Join(r.recorder.Flush(t.Context()), r.recorder.Flush(t.Context())); err != nil {
				t.Fatal(err)
			}
			if got := r.findLoss(); got != c.want {
				t.Errorf("%s: the loss is %q, want %q", c.name, got, c.want)
			}
			r.wantStored("e2", "12:02- ready A")
			if n := len(r.recorder.Clusters()); n != 2 {
				t.Errorf("%s: %d clusters are known", c.name, n)
			}
		}
	}
}

// TestStoreUnread: as long as the store could not be read, gates do not decide by what is known without
// it. What is reported meanwhile is added to what is stored when it can be, and that is said.
func TestStoreUnread(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		r := newRig(t, newStore)
		r.open()
		r.report("e1", "ready", "A")
		r.report("e2", "ready", "A")
		if err := r.recorder.Close(); err != nil {
			t.Fatal(err)
		}
		restore := r.store.shut()
		changed := 0
		r.changed = func() { changed++ }
		r.open()
		if got := r.findLoss(); !strings.HasPrefix(got, "pending: ") || r.recorder.Check() == nil {
			t.Errorf("the loss is %q, and the store %v", got, r.recorder.Check())
		}
		r.report("e2", "failed", "B")
		r.report("e3", "ready", "B")
		if err := r.recorder.Flush(t.Context()); err == nil || changed != 0 {
			t.Errorf("it is written: %v; %d times it was said", err, changed)
		}
		restore()
		if err := r.recorder.Flush(t.Context()); err != nil || r.findLoss() != "" || changed != 1 {
			t.Errorf("%v; the loss is %q; %d times it was said", err, r.findLoss(), changed)
		}
		r.wantStored("e1", "12:01- ready A")
		r.wantStored("e2", "12:02-12:03 ready A, 12:03- failed B")
		r.wantStored("e3", "12:04- ready B")
		if n := len(r.recorder.Clusters()); n != 3 {
			t.Errorf("%d clusters are known", n)
		}
	})
}

// TestChanged: a process is told when another one has stored something, and not when it has itself.
func TestChanged(t *testing.T) {
	r := newRig(t, newPostgresStore)
	changed := 0
	r.open()
	first := r.recorder
	r.changed = func() { changed++ }
	r.open()
	changed = 0
	r.report("e1", "ready", "A")
	for _, step := range []struct {
		flushed *recorder.Recorder
		want    int
	}{{r.recorder, 0}, {first, 0}, {r.recorder, 0}} {
		if err := step.flushed.Flush(t.Context()); err != nil || changed != step.want {
			t.Errorf("%d times it was said, want %d, %v", changed, step.want, err)
		}
	}
	r.recorder, first = first, r.recorder
	r.report("e2", "ready", "A")
	if err := errors.Join(r.recorder.Flush(t.Context()), first.Flush(t.Context()), first.Flush(t.Context())); err != nil || changed != 1 {
		t.Errorf("%d times it was said, %v", changed, err)
	}
}

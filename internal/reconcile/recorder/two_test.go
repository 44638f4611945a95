package recorder_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgercases"
)

// TestTwoRecorders runs the cases of the ledger with two processes that share a store, and receive in
// turn. They give the answers of one.
func TestTwoRecorders(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(e *twoEngine, news bool)
	}{
		{"written by turns", func(*twoEngine, bool) {}},
		{"ended by turns", func(e *twoEngine, news bool) {
			if news { // there is nothing to lose otherwise, and most contacts bring none
				e.check(e.all[e.turn].Close())
				e.openOne(e.turn)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			engines := map[*testing.T]*twoEngine{}
			ledgercases.Run(t, cases, ledgercases.Options{}, func(t *testing.T, now func() time.Time) ledgercases.Engine {
				e := engines[t]
				if e == nil {
					e = &twoEngine{sqlEngine: sqlEngine{T: t, store: newPostgresStore(t)}, after: c.after}
					engines[t] = e
					t.Cleanup(e.close)
				} else {
					e.close()
					e.store.empty()
				}
				e.now, e.outputs, e.adopted, e.turn = now, ledger.Outputs{}, nil, 0
				e.openOne(0)
				e.openOne(1)
				e.recorder = e.all[0]
				return e
			})
		})
	}
}

// twoEngine is two Recorders with one store. Those that answer know what both have received.
type twoEngine struct {
	sqlEngine
	all   [2]*recorder.Recorder
	turn  int // whose it is to receive
	after func(e *twoEngine, news bool)
}

func (e *twoEngine) openOne(i int) {
	o := recorder.Options{Now: e.now, Logger: quiet}
	e.store.set(&o)
	e.all[i] = recorder.Open(e.Context(), o)
	e.check(e.all[i].Check())
	e.all[i].SetAdopted(e.adopted)
}

func (e *twoEngine) SetAdopted(times map[string]time.Time) {
	e.adopted = maps.Clone(times)
	for _, r := range e.all {
		r.SetAdopted(e.adopted)
	}
}

func (e *twoEngine) close() {
	for _, r := range e.all {
		e.check(r.Close())
	}
}

// meet has each Recorder learn what the other one knows.
func (e *twoEngine) meet() {
	for range 2 {
		for _, r := range e.all {
			e.check(r.Flush(e.Context()))
		}
	}
	e.recorder = e.all[1-e.turn]
}

func (e *twoEngine) LoseStore() {
	e.close()
	e.store.lose()
	e.openOne(0)
	e.openOne(1)
}

// Receive has the Recorders receive in turn. The one of the turn knows what the other has stored.
func (e *twoEngine) Receive(c ledger.Contact, reports []ledger.Report) ledger.Receipt {
	receipt, _ := e.all[e.turn].Receive(c, reports)
	e.check(e.all[e.turn].Flush(e.Context()))
	e.after(e, len(reports) > 0)
	e.turn = 1 - e.turn
	e.check(e.all[e.turn].Flush(e.Context())) // as each does every second
	return receipt
}

func (e *twoEngine) FindStandings(wanted ledger.Wanted, at time.Time) []ledger.Standing {
	e.meet()
	return e.recorder.FindStandings(wanted, &e.outputs)
}

func (e *twoEngine) Clusters() []ledger.Cluster {
	e.meet()
	return e.recorder.Clusters()
}

func (e *twoEngine) FindHistory(o ledger.Object) []ledger.Span {
	e.meet()
	return e.sqlEngine.FindHistory(o)
}

func (e *twoEngine) FindRunning(object string, at time.Time) []ledgercases.Running {
	e.meet()
	return e.sqlEngine.FindRunning(object, at)
}

// TestOvertaken: what one process has not stored yet when another one stores a later report of the same
// cluster is not lost, whether an agent has reported it or not.
func TestOvertaken(t *testing.T) {
	for _, boot := range []string{"", "boot"} {
		store := newPostgresStore(t)
		now := noon
		var all [2]*recorder.Recorder
		for i := range all {
			o := recorder.Options{Now: func() time.Time { return now }, Logger: quiet}
			store.set(&o)
			all[i] = recorder.Open(t.Context(), o)
		}
		for i, name := range []string{"P", "W"} {
			now = now.Add(time.Minute)
			c := ledger.Contact{Name: "e1", Every: time.Minute, Boot: boot, Sequence: uint64(i + 1), Sent: now, Received: now}
			all[i].Receive(c, []ledger.Report{{Object: ledger.Object{Name: name}, Phase: ledger.Ready, Target: "A", Said: now}})
		}
		for _, i := range []int{1, 0, 1} {
			err := all[i].Flush(t.Context())
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range all {
			if clusters := r.Clusters(); len(clusters) != 1 || clusters[0].Sequence != 2 && boot != "" {
				t.Errorf("the clusters of %d are %+v", i, clusters)
			}
			err := r.Close()
			if err != nil {
				t.Fatal(err)
			}
		}
		s := store.open()
		for _, name := range []string{"P", "W"} {
			spans, err := s.FindHistory(t.Context(), ledger.Object{Cluster: "e1", Name: name})
			if err != nil || len(spans) != 1 || spans[0].Phase != ledger.Ready {
				t.Errorf("boot %q: of %s is stored %+v, %v", boot, name, spans, err)
			}
		}
		_ = s.Close()
	}
}

// TestManyWhileAway: what is held while a store is away is bounded, and what is known is stored when it
// is back, also where some of it was given up.
func TestManyWhileAway(t *testing.T) {
	r := newRig(t, newPostgresStore)
	r.open()
	r.report("e1", "ready", "A")
	err := r.recorder.Flush(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.store.goAway()
	for i := range 100 {
		r.report("e1", "ready", strings.Repeat("B", i+1))
	}
	r.report("e1", "failed", "C")
	if r.recorder.Flush(t.Context()) == nil || r.recorder.Check() == nil {
		t.Error("nothing is said of a store that is away")
	}
	r.store.comeBack()
	err = r.recorder.Flush(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.stored("e1"); !strings.HasSuffix(got, "- failed C") || !strings.HasPrefix(got, "12:01-") {
		t.Errorf("stored is %s", got)
	}
}

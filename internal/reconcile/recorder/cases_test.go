package recorder_test

import (
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgercases"
	"github.com/fairlead-io/fairlead/internal/testkit/pgtest"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// cases is the folder of the cases.
var cases = filepath.Join("..", "..", "..", ledgercases.Folder)

// TestMain runs the tests with a PostgreSQL, if one can be started.
func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestCases runs the cases of the ledger with its stores. What is reported is written at the end, or
// after each contact with reports; or the process ends then, and another one reads what was written.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		name  string
		anew  bool
		after func(e *sqlEngine)
	}{
		{"written at the end", true, func(*sqlEngine) {}},
		{"written after each report", false, func(e *sqlEngine) { e.flush() }},
		{"ended after each report", false, func(e *sqlEngine) { e.restart() }},
	} {
		onBothEngines(t, c.name, func(t *testing.T, newStore func(*testing.T) testStore) {
			engines := map[*testing.T]*sqlEngine{} // of the cases, which ask one question after the other
			ledgercases.Run(t, cases, ledgercases.Options{Anew: c.anew}, func(t *testing.T, now func() time.Time) ledgercases.Engine {
				e := engines[t]
				if e == nil {
					e = &sqlEngine{T: t, store: newStore(t), after: c.after}
					engines[t] = e
					t.Cleanup(func() { e.check(e.recorder.Close()) })
				} else {
					e.check(e.recorder.Close())
					e.store.empty()
				}
				e.now, e.outputs, e.adopted = now, ledger.Outputs{}, nil
				e.open()
				return e
			})
		})
	}
}

// sqlEngine is a Recorder with its store. Questions of the past are asked of the store.
type sqlEngine struct {
	*testing.T
	store    testStore
	now      func() time.Time
	after    func(*sqlEngine)
	recorder *recorder.Recorder
	outputs  ledger.Outputs
	adopted  map[string]time.Time // as Git has it
}

func (e *sqlEngine) check(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *sqlEngine) open() {
	o := recorder.Options{Now: e.now, Logger: quiet}
	e.store.set(&o)
	e.recorder = recorder.Open(e.Context(), o)
	e.check(e.recorder.Check())
	e.recorder.SetAdopted(e.adopted)
}

func (e *sqlEngine) SetAdopted(times map[string]time.Time) {
	e.adopted = maps.Clone(times)
	e.recorder.SetAdopted(e.adopted)
}

func (e *sqlEngine) flush() { e.check(e.recorder.Flush(e.Context())) }

func (e *sqlEngine) restart() {
	e.check(e.recorder.Close())
	e.open()
}

func (e *sqlEngine) LoseStore() {
	e.check(e.recorder.Close())
	e.store.lose()
	e.open()
}

func (e *sqlEngine) AddOutput(o ledger.Output) { e.outputs.Add(o) }
func (e *sqlEngine) Outputs() *ledger.Outputs  { return &e.outputs }

func (e *sqlEngine) Receive(c ledger.Contact, reports []ledger.Report) ledger.Receipt {
	receipt, _ := e.recorder.Receive(c, reports)
	if len(reports) > 0 {
		e.after(e)
	}
	return receipt
}

func (e *sqlEngine) FindStandings(wanted ledger.Wanted, _ time.Time) []ledger.Standing {
	return e.recorder.FindStandings(wanted, &e.outputs)
}

func (e *sqlEngine) Clusters() []ledger.Cluster { return e.recorder.Clusters() }

func (e *sqlEngine) FindHistory(o ledger.Object) (all []ledger.Span) {
	e.ask(func(s *ledgerdb.Store) (err error) {
		all, err = s.FindHistory(e.Context(), o)
		return err
	})
	return all
}

func (e *sqlEngine) FindRunning(object string, at time.Time) (all []ledgercases.Running) {
	e.ask(func(s *ledgerdb.Store) error {
		found, err := s.FindRunning(e.Context(), object, at)
		for _, r := range found {
			all = append(all, ledgercases.Running(r))
		}
		return err
	})
	return all
}

// ask asks the store, as another process does.
func (e *sqlEngine) ask(question func(*ledgerdb.Store) error) {
	e.flush()
	s := e.store.open()
	e.check(question(s))
	e.check(s.Close())
}

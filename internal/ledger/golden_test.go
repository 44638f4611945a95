package ledger_test

import (
	"flag"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgercases"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// TestCases runs the cases in testdata with a ledger in memory: see testdata/README.md.
func TestCases(t *testing.T) {
	ledgercases.Run(t, "testdata", ledgercases.Options{Update: *update, Anew: true}, func(_ *testing.T, now func() time.Time) ledgercases.Engine {
		return &memoryEngine{Ledger: ledger.New(1000), spans: map[ledger.Object]map[time.Time]ledger.Span{}}
	})
}

// memoryEngine is a ledger with its spans in memory.
type memoryEngine struct {
	*ledger.Ledger
	outputs ledger.Outputs
	spans   map[ledger.Object]map[time.Time]ledger.Span
}

func (e *memoryEngine) AddOutput(o ledger.Output) { e.outputs.Add(o) }
func (e *memoryEngine) Outputs() *ledger.Outputs  { return &e.outputs }

func (e *memoryEngine) LoseStore() {
	e.Ledger, e.spans = ledger.New(1000), map[ledger.Object]map[time.Time]ledger.Span{}
}

func (e *memoryEngine) Receive(c ledger.Contact, reports []ledger.Report) ledger.Receipt {
	receipt := e.Ledger.Receive(c, reports)
	for _, w := range receipt.Writes {
		e.writeSpan(w)
	}
	for _, late := range receipt.Late {
		writes, _ := e.PutBetween(late.Object, e.FindHistory(late.Object), []ledger.Span{late.Span})
		for _, w := range writes {
			e.writeSpan(w)
		}
	}
	return receipt
}

// writeSpan does what a store does with a write.
func (e *memoryEngine) writeSpan(w ledger.SpanWrite) {
	all := e.spans[w.Object]
	if all == nil {
		all = map[time.Time]ledger.Span{}
		e.spans[w.Object] = all
	}
	switch w.Kind {
	case ledger.BeginSpan:
		all[w.Span.Since] = w.Span
	case ledger.EndSpan:
		s := all[w.Span.Since]
		s.Until = w.Span.Until
		all[w.Span.Since] = s
	case ledger.DeleteSpan:
		delete(all, w.Span.Since)
	}
}

func (e *memoryEngine) FindStandings(wanted ledger.Wanted, now time.Time) []ledger.Standing {
	return e.Ledger.FindStandings(wanted, &e.outputs, now)
}

func (e *memoryEngine) FindHistory(o ledger.Object) []ledger.Span {
	return slices.SortedFunc(maps.Values(e.spans[o]), func(a, b ledger.Span) int { return a.Since.Compare(b.Since) })
}

func (e *memoryEngine) FindRunning(object string, at time.Time) (all []ledgercases.Running) {
	for _, c := range e.Clusters() {
		for _, s := range e.FindHistory(ledger.Object{Cluster: c.ID, Name: object}) {
			if !s.Since.After(at) && (s.Until.IsZero() || s.Until.After(at)) {
				all = append(all, ledgercases.Running{Cluster: c.NameAt(at), Span: s})
			}
		}
	}
	return all
}

func (e *memoryEngine) Clusters() (all []ledger.Cluster) {
	for _, c := range e.Ledger.Clusters() {
		all = append(all, *c.Clone())
	}
	return all
}

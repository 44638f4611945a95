package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// randomReport returns a report of one object within a few seconds, so that many are of one second.
func randomReport(random *rand.Rand) Report {
	r := Report{
		Object: Object{"east-1", "Kustomization/flux-system/fleet"}, Group: Group{Environment: "prod"},
		Phase: Phase(random.IntN(6)), Target: []string{"", "A", "B", "C"}[random.IntN(4)],
		Level: random.IntN(5) == 0, Said: noon.Add(time.Duration(random.IntN(6)) * time.Second),
	}
	if random.IntN(8) == 0 {
		r.Runs = []string{"A", "B"}[random.IntN(2)]
	}
	if r.isEmpty() {
		r.Target = "A"
	}
	if r.Phase == Failed {
		r.Message = []string{"timeout", "denied"}[random.IntN(2)]
	}
	return r
}

// foldAll returns the memory of reports that arrive in an order.
func foldAll(reports []Report, order []int) *memory {
	m := &memory{}
	for _, i := range order {
		m.fold(reports[i])
	}
	return m
}

// TestOrder: what is known is the same in whatever order reports arrive, however often each does, and
// when what is known is stored and read in between.
func TestOrder(t *testing.T) {
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 17))
		reports := make([]Report, 1+random.IntN(8))
		for i := range reports {
			reports[i] = randomReport(random)
		}
		inOrder := make([]int, len(reports))
		for i := range inOrder {
			inOrder[i] = i
		}
		want := foldAll(reports, inOrder).state()

		order := append(random.Perm(len(reports)), random.Perm(len(reports))[:random.IntN(len(reports))]...)
		shuffled := foldAll(reports, order)
		if got := shuffled.state(); got != want {
			t.Fatalf("seed %d: %s\nin the order %v: %+v\nwant %+v", seed, describeReports(reports), order, got, want)
		}

		some := random.IntN(len(order))
		stored := foldAll(reports, order[:some]).reports(reports[0].Object)
		for _, i := range order[some:] {
			stored = append(stored, reports[i])
		}
		read := &memory{}
		for _, r := range stored {
			read.fold(r)
			k := newKept(*read)
			*read = k.memory()
		}
		if got := read.state(); got != want {
			t.Fatalf("seed %d: %s\nin the order %v, stored after %d as %s: %+v\nwant %+v", seed, describeReports(reports), order, some, describeReports(stored), got, want)
		}
	}
}

// TestReadyAtANamedRevision: an object is ready only if a report said so of that very revision, and
// nothing newer says something else.
func TestReadyAtANamedRevision(t *testing.T) {
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 18))
		reports := make([]Report, 1+random.IntN(8))
		m := &memory{}
		for i := range reports {
			reports[i] = randomReport(random)
			m.fold(reports[i])
		}
		s := m.state()
		if s.Phase != Ready {
			continue
		}
		named := false
		for _, r := range reports {
			named = named || r.Phase == Ready && r.Target == s.Revision && r.Said.Equal(s.Said)
			if r.Said.After(s.Said) && (r.Phase > Ready || r.Phase == Progressing && r.Target != s.Revision) {
				t.Fatalf("seed %d: %s\n%+v, but it said later %+v", seed, describeReports(reports), s, r)
			}
		}
		if !named || s.Revision == "" || s.Attempted != "" {
			t.Fatalf("seed %d: %s\n%+v", seed, describeReports(reports), s)
		}
	}
}

// describeReports returns reports as text.
func describeReports(reports []Report) string {
	text := ""
	for _, r := range reports {
		text += fmt.Sprintf("%ds %s target %q runs %q level %t %q\n", r.Said.Unix()-noon.Unix(), r.Phase, r.Target, r.Runs, r.Level, r.Message)
	}
	return text
}

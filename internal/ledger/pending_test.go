package ledger

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// TestPending: writes that were held come to the same as those that were not, when they are held again
// behind others, and when they are written twice.
func TestPending(t *testing.T) {
	object := Object{"east-1", "Kustomization/flux-system/fleet"}
	for seed := range uint64(5_000) {
		random := rand.New(rand.NewPCG(seed, 20))
		l, want, got := New(10), map[time.Time]Span{}, map[time.Time]Span{}
		var first, second Pending
		flushed := random.IntN(10)
		for i := range 2 + random.IntN(20) {
			for _, w := range l.Receive(randomContact(random, i)).Writes {
				writeSpan(want, w)
				if i < flushed {
					first.Add(w)
				} else {
					second.Add(w)
				}
			}
		}
		held := first
		if random.IntN(2) == 0 { // written, with an answer that was lost
			writeAll(got, &first)
		}
		if random.IntN(2) == 0 { // or held
			held.Follow(&second)
			second = Pending{}
		}
		writeAll(got, &held)
		writeAll(got, &second)
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d of %s:\n%+v, want\n%+v", seed, object, got, want)
		}
	}
}

// TestPendingIsBounded: while a store is away, the newest spans of each object are held.
func TestPendingIsBounded(t *testing.T) {
	var p Pending
	for i := range 1000 {
		p.Add(SpanWrite{Object{"east-1", "P"}, BeginSpan, Span{Since: noon.Add(time.Duration(i) * time.Minute), Phase: Ready}})
	}
	all := p.All()
	if len(all) != maxHeldSpans || p.Len() != maxHeldSpans || !all[maxHeldSpans-1].Span.Since.Equal(noon.Add(999*time.Minute)) {
		t.Errorf("%d are held, %d counted", len(all), p.Len())
	}
}

func writeAll(stored map[time.Time]Span, p *Pending) {
	for _, w := range p.All() {
		writeSpan(stored, w)
	}
}

// writeSpan does what a store does.
func writeSpan(stored map[time.Time]Span, w SpanWrite) {
	switch w.Kind {
	case BeginSpan:
		stored[w.Span.Since] = w.Span
	case EndSpan:
		if old, known := stored[w.Span.Since]; known {
			old.Until = w.Span.Until
			stored[w.Span.Since] = old
		}
	case DeleteSpan:
		delete(stored, w.Span.Since)
	}
}

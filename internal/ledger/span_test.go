package ledger

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestSpans: whatever arrives in whatever order, the stored spans of an object do not overlap, none but
// the last one lasts and it says what is known, and no two neighbours say the same. Two that follow
// each other at once have no gap between them.
func TestSpans(t *testing.T) {
	object := Object{"east-1", "Kustomization/flux-system/fleet"}
	for seed := range uint64(5_000) {
		random := rand.New(rand.NewPCG(seed, 19))
		l, stored := New(10), map[time.Time]Span{}
		for i := range 2 + random.IntN(20) {
			r := randomReport(random)
			r.Said = noon.Add(time.Duration(20*i+random.IntN(200)-100) * time.Second)
			c := Contact{Name: "east-1", Every: time.Minute, Received: noon.Add(time.Duration(20*i) * time.Second)}
			for _, w := range l.Receive(c, []Report{r}).Writes {
				old, known := stored[w.Span.Since]
				if known == (w.Kind == BeginSpan) {
					t.Fatalf("seed %d: %+v of a span that is there: %t", seed, w, known)
				}
				switch w.Kind {
				case BeginSpan:
					stored[w.Span.Since] = w.Span
				case EndSpan:
					old.Until = w.Span.Until
					stored[w.Span.Since] = old
				case DeleteSpan:
					delete(stored, w.Span.Since)
				}
			}
		}
		checkSpans(t, seed, l, object, stored)
	}
}

func checkSpans(t *testing.T, seed uint64, l *Ledger, object Object, stored map[time.Time]Span) {
	t.Helper()
	state, known := l.Find(object)
	lasting := 0
	for _, s := range stored {
		if s.Until.IsZero() {
			lasting++
			if s.Phase != state.Phase || s.Revision != state.Revision || s.Attempted != state.Attempted {
				t.Fatalf("seed %d: the last span is %+v, and known is %+v", seed, s, state)
			}
			continue
		}
		next, follows := stored[s.Until]
		switch {
		case !s.Until.After(s.Since):
			t.Fatalf("seed %d: %+v ends before it begins", seed, s)
		case !follows:
			t.Fatalf("seed %d: nothing follows %+v", seed, s)
		case next.Phase == s.Phase && next.Revision == s.Revision && next.Attempted == s.Attempted:
			t.Fatalf("seed %d: %+v says the same as %+v", seed, next, s)
		}
	}
	for _, a := range stored {
		for _, b := range stored {
			if a.Since.Before(b.Since) && (a.Until.IsZero() || a.Until.After(b.Since)) {
				t.Fatalf("seed %d: %+v overlaps %+v", seed, a, b)
			}
		}
	}
	if known != (lasting == 1) {
		t.Fatalf("seed %d: %d spans last, known is %+v, %t", seed, lasting, state, known)
	}
}

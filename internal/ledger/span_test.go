package ledger

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestSpans: whatever arrives in whatever order, the stored spans of an object do not overlap, none but
// the last one lasts and it says what is known, and no two neighbours say the same. Two that follow
// each other at once have no gap between them. Some is told afterwards.
func TestSpans(t *testing.T) {
	object, late := Object{"east-1", "Kustomization/flux-system/fleet"}, 0
	for seed := range uint64(5_000) {
		random := rand.New(rand.NewPCG(seed, 19))
		l, stored := New(10), map[time.Time]Span{}
		for i := range 2 + random.IntN(20) {
			for _, w := range l.Receive(randomContact(random, i)).Writes {
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
		for _, s := range stored {
			if s.Late {
				late++
			}
		}
	}
	if late < 100 {
		t.Errorf("%d spans are late", late)
	}
}

// randomContact returns the next contact of a cluster: an event, or what an agent tells after some time,
// with the past.
func randomContact(random *rand.Rand, number int) (Contact, []Report) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(20*number+seconds) * time.Second) }
	r := randomReport(random)
	r.Said = at(random.IntN(200) - 100)
	c := Contact{Name: "east-1", Every: time.Minute, Received: at(0)}
	if random.IntN(6) > 0 {
		return c, []Report{r}
	}
	c.Boot, c.Sequence, c.Sent = "1", uint64(number+1), at(0)
	r.Said = at(0)
	var all []Report
	for ago := 400; ago > 0; ago -= 1 + random.IntN(200) {
		past := Report{Object: r.Object, Phase: Failed, Target: []string{"A", "B", "C"}[random.IntN(3)], Level: true, Said: at(-ago)}
		if random.IntN(2) == 0 {
			past.Phase = Ready
		}
		all = append(all, past)
	}
	return c, append(all, r)
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

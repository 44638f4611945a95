package ledger

import (
	"math/rand/v2"
	"slices"
	"time"
)

// ToldHistory returns reports of what an object was from a time to a time, in their order, and of what it is
// at two times. No two neighbours say the same, apart from these.
func ToldHistory(random *rand.Rand, o Object) (told []Report) {
	said := noon
	for range 3 + random.IntN(6) {
		r := Report{Object: o, Phase: Ready, Level: true, Said: said}
		for r.Target == "" || len(told) > 0 && r.Phase == told[len(told)-1].Phase && r.Target == told[len(told)-1].Target {
			r.Target, r.Phase = string(rune('A'+random.IntN(3))), []Phase{Ready, Ready, Failed}[random.IntN(3)]
		}
		said = said.Add(time.Duration(1+random.IntN(5)) * time.Minute)
		r.Until = said
		told = append(told, r)
	}
	now := told[len(told)-1]
	now.Said, now.Until = now.Until, time.Time{}
	return append(told, now)
}

// WriteSpan returns the spans of an object, the oldest first, with a write done.
func WriteSpan(all []Span, w SpanWrite) []Span {
	i, known := slices.BinarySearchFunc(all, w.Span.Since, func(s Span, since time.Time) int { return s.Since.Compare(since) })
	switch {
	case w.Kind == DeleteSpan && known:
		return slices.Delete(all, i, i+1)
	case w.Kind == EndSpan && known:
		all[i].Until = w.Span.Until
	case w.Kind == BeginSpan && known:
		all[i] = w.Span
	case w.Kind == BeginSpan:
		return slices.Insert(all, i, w.Span)
	}
	return all
}

package ledger

import (
	"cmp"
	"time"
	"unique"
)

// settleTime is how long an object may be Progressing without a span of its own: most objects go from
// one ready revision to the next within it.
const settleTime = time.Minute

// Span is a time in which an object said the same.
type Span struct {
	Since     time.Time
	Until     time.Time // zero while it lasts
	Phase     Phase
	Revision  string // see State
	Attempted string
	App       string // see State
	Message   string // of a failure, as it was first said
	Plan      Plan   // see State, as it was first said
	// Late is set if the span is told of afterwards: when it began, nothing was heard of its cluster.
	Late bool
}

// Target returns the revision that Phase is about; "" if none was ever named.
func (s Span) Target() string { return cmp.Or(s.Attempted, s.Revision) }

// SpanWrite changes the stored spans of an object. A span is found by Object and Span.Since.
type SpanWrite struct {
	Object Object
	Kind   WriteKind
	Span   Span
}

// WriteKind is what becomes of a span.
type WriteKind uint8

// The kinds of writes.
const (
	BeginSpan  WriteKind = iota // it is added
	EndSpan                     // it gets the time in Until; zero if it lasts again
	DeleteSpan                  // it was too short to count
)

// gap is a time in which nothing was heard of the objects of a cluster.
type gap struct{ from, to time.Time }

func (g gap) contains(t time.Time) bool { return t.After(g.from) && t.Before(g.to) }

// history is the end of the history of an object: the span that lasts, and the one before.
type history struct{ open, before mark }

// mark is what has to be known of a span. The zero mark stands for none.
type mark struct {
	revision, attempted unique.Handle[string]
	since               uint32 // Unix seconds
	phase               Phase
	late                bool // is not known of what was restored
}

// isSame reports whether two spans say the same, whenever they do.
func (m mark) isSame(other mark) bool {
	m.since, m.late = other.since, other.late
	return m == other
}

// change makes another state the last one, from a time on, and appends the writes that do the same to
// the stored spans: one that begins in the gap is late. Spans of one object never overlap, at most one
// lasts, and time does not go backwards.
func (h *history) change(writes []SpanWrite, o Object, s State, at time.Time, unheard gap) []SpanWrite {
	since := max(unixSeconds(at), h.open.since)
	span := Span{Since: timeOf(since), Phase: s.Phase, Revision: s.Revision, Attempted: s.Attempted, App: s.App, Message: s.Message, Plan: s.Plan}
	span.Late = unheard.contains(span.Since)
	next := newMark(span)
	write := func(kind WriteKind, span Span) { writes = append(writes, SpanWrite{o, kind, span}) }
	lasted := time.Duration(since-h.open.since) * time.Second
	if h.open.since > 0 && (lasted == 0 || h.open.phase == Progressing && lasted <= settleTime) {
		write(DeleteSpan, Span{Since: timeOf(h.open.since)})
		h.open, h.before = h.before, mark{}
	}
	switch {
	case h.open.since == 0: // the history begins
	case h.open.isSame(next):
		write(EndSpan, Span{Since: timeOf(h.open.since)})
		return writes
	default:
		write(EndSpan, Span{Since: timeOf(h.open.since), Until: timeOf(since)})
	}
	h.before, h.open = h.open, next
	write(BeginSpan, span)
	return writes
}

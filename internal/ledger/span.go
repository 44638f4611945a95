package ledger

import (
	"cmp"
	"time"
	"unique"
)

// settleTime is how long Progressing may last without its own span: most updates take less.
const settleTime = time.Minute

// Span is an interval with one state of an object.
type Span struct {
	Since     time.Time
	Until     time.Time // zero while it lasts
	Phase     Phase
	Revision  string
	Attempted string
	App       string
	Message   string // as first reported
	Plan      Plan   // as first reported
	// Late is set if the span began without contact.
	Late bool
}

// Target returns the revision of Phase; "" if unknown.
func (s Span) Target() string { return cmp.Or(s.Attempted, s.Revision) }

// SpanWrite changes a stored span, identified by Object and Span.Since.
type SpanWrite struct {
	Object Object
	Kind   WriteKind
	Span   Span
}

// WriteKind is the kind of a SpanWrite.
type WriteKind uint8

// The kinds of writes.
const (
	BeginSpan  WriteKind = iota // adds or replaces it
	EndSpan                     // sets Until; zero if it lasts again
	DeleteSpan                  // deletes one that was too short
)

type gap struct{ from, to time.Time }

func (g gap) contains(t time.Time) bool { return t.After(g.from) && t.Before(g.to) }

// history has the last two spans of an object.
type history struct{ open, before mark }

// mark is a compact span; the zero mark is none.
type mark struct {
	revision, attempted unique.Handle[string]
	since               uint32
	phase               Phase
	late                bool // not restored
}

func (m mark) isSame(other mark) bool {
	m.since, m.late = other.since, other.late
	return m == other
}

// change begins a new state and appends the writes. Spans never overlap, at most one lasts, and
// time never goes backwards.
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
	case h.open.since == 0:
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

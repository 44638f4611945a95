package ledger

import (
	"cmp"
	"slices"
	"time"
)

// LateSpan is a span reported after newer states.
type LateSpan struct {
	Object Object
	Span   Span
}

// lateSpan returns the history interval that an out-of-order report proves, or false. It must have
// a known end, and start after the cluster's previous contact and last move.
func (c *Cluster) lateSpan(r Report, received time.Time, known State, unheard gap) (LateSpan, bool) {
	since, until := spanStart(r.Said, received, c.Began), spanStart(r.Until, received, c.Began)
	span := Span{Since: timeOf(unixSeconds(since)), Until: timeOf(unixSeconds(until)), Phase: r.Phase, Revision: r.Runs, Attempted: r.Target, Message: r.Message, Plan: r.Plan, Late: true}
	isStated := r.Phase != Unstated && r.Phase != Progressing && r.Phase != Checking
	return LateSpan{r.Object, span}, isStated && !r.isEmpty() && known.Said.After(r.Said) && r.Said.After(unheard.from) &&
		span.Until.After(span.Since) && span.Since.After(c.LastMoved())
}

// PutBetween inserts late spans into an object's stored spans, and returns the writes for the
// store. stored may lack spans that end before the late ones. It returns false if stored does not
// end as the ledger knows, because others were stored or the object was removed.
func (l *Ledger) PutBetween(o Object, stored, late []Span) (writes []SpanWrite, ok bool) {
	r := l.book.find(o)
	open := time.Time{}
	if n := len(stored); n > 0 && stored[n-1].Until.IsZero() {
		open = stored[n-1].Since
	}
	if r == nil || !open.Equal(timeOf(r.open.since)) {
		return nil, false
	}
	late = slices.SortedFunc(slices.Values(late), func(a, b Span) int { return a.Since.Compare(b.Since) })
	next := slices.Clone(stored)
	for _, s := range late {
		next = insertSpan(next, s)
	}
	r.history = newHistory(next)
	return compareSpans(o, stored, next), true
}

func newHistory(all []Span) (h history) {
	n := len(all)
	if n > 0 {
		h.open = newMark(all[n-1])
	}
	if n > 1 && all[n-2].Until.Equal(all[n-1].Since) {
		h.before = newMark(all[n-2])
	}
	return h
}

// insertSpan keeps spans that began later. It clips or splits the span around the late one's start.
func insertSpan(all []Span, late Span) []Span {
	i, _ := slices.BinarySearchFunc(all, late.Since, func(s Span, since time.Time) int {
		return cmp.Or(s.Since.Compare(since), -1)
	})
	if i < len(all) && all[i].Since.Before(late.Until) {
		late.Until = all[i].Since
	}
	head, placed := all[:i], []placedSpan{{late, late.Revision == ""}}
	if i > 0 && all[i-1].contains(late.Since) {
		head = all[:i-1]
		placed = placedSpan{all[i-1], inheritsRevision(all, i-1)}.placeWithin(placed[0], head)
	}
	next := slices.Clone(head)
	for _, p := range placed {
		next = append(next, p.withRevision(next))
	}
	for j, s := range all[i:] {
		follows := j == 0 && s.Since.Equal(late.Until) // its revision shows what ran before
		next = append(next, placedSpan{s, follows || inheritsRevision(all, i+j)}.withRevision(next))
	}
	return joinSpans(next, max(len(head)-1, 0))
}

type placedSpan struct {
	Span
	inherits bool
}

func (p placedSpan) placeWithin(late placedSpan, head []Span) (placed []placedSpan) {
	before, behind := p, p
	if p.Since.Before(late.Since) {
		before.Until = late.Since
		placed = append(placed, before)
		head = append(slices.Clone(head), before.withRevision(head))
	}
	if p.saysSame(late.withRevision(head)) {
		return []placedSpan{p}
	}
	placed = append(placed, late)
	if p.contains(late.Until) {
		behind.Since, behind.Late = late.Until, true
		placed = append(placed, behind)
	}
	return placed
}

func inheritsRevision(all []Span, i int) bool {
	return all[i].Phase != Ready && all[i].Revision == lastRevision(all[:i])
}

func lastRevision(all []Span) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Revision
}

// withRevision adapts a span's revision to its predecessors. The last span's revision is known.
func (p placedSpan) withRevision(before []Span) Span {
	s, target := p.Span, p.Target()
	switch {
	case s.Until.IsZero():
		return s
	case s.Phase == Ready:
		s.Revision = target
	case p.inherits:
		s.Revision = lastRevision(before)
	}
	s.Attempted = ""
	if target != s.Revision {
		s.Attempted = target
	}
	return s
}

func joinSpans(all []Span, i int) []Span {
	for i+1 < len(all) {
		if !all[i].Until.Equal(all[i+1].Since) || !all[i].saysSame(all[i+1]) {
			i++
			continue
		}
		if all[i].Plan == (Plan{}) {
			all[i].Plan = all[i+1].Plan
		}
		all[i].Until, all[i].Message, all[i].App = all[i+1].Until, cmp.Or(all[i].Message, all[i+1].Message), cmp.Or(all[i].App, all[i+1].App)
		all = slices.Delete(all, i+1, i+2)
	}
	return all
}

func (s Span) contains(at time.Time) bool { return s.Until.IsZero() || s.Until.After(at) }

func (s Span) saysSame(other Span) bool {
	return s.Phase == other.Phase && s.Revision == other.Revision && s.Attempted == other.Attempted
}

func compareSpans(o Object, before, after []Span) (writes []SpanWrite) {
	left := map[time.Time]Span{}
	for _, s := range before {
		left[s.Since] = s
	}
	for _, s := range after {
		old, known := left[s.Since]
		delete(left, s.Since)
		same := old
		same.Until = s.Until
		switch {
		case known && old == s:
		case known && same == s:
			writes = append(writes, SpanWrite{o, EndSpan, Span{Since: s.Since, Until: s.Until}})
		default:
			writes = append(writes, SpanWrite{o, BeginSpan, s})
		}
	}
	for _, s := range before {
		_, removed := left[s.Since]
		if removed {
			writes = append(writes, SpanWrite{o, DeleteSpan, Span{Since: s.Since}})
		}
	}
	return writes
}

package ledger

import (
	"cmp"
	"slices"
	"time"
)

// LateSpan is what an object said from a time to a time, of which is told when more is known already.
type LateSpan struct {
	Object Object
	Span   Span
}

// lateSpan returns what a report tells of the past that is not newer than what was known, and false if it
// tells nothing of it: until when the object said so has to be known, and nothing may have been heard of its
// cluster when it began to. It tells nothing of another place than where the cluster belongs.
func (c *Cluster) lateSpan(r Report, received time.Time, known State, unheard gap) (LateSpan, bool) {
	since, until := spanStart(r.Said, received, c.Began), spanStart(r.Until, received, c.Began)
	span := Span{Since: timeOf(unixSeconds(since)), Until: timeOf(unixSeconds(until)), Phase: r.Phase, Revision: r.Runs, Attempted: r.Target, Message: r.Message, Plan: r.Plan, Late: true}
	isStated := r.Phase != Unstated && r.Phase != Progressing && r.Phase != Checking
	return LateSpan{r.Object, span}, isStated && !r.isEmpty() && known.Said.After(r.Said) && r.Said.After(unheard.from) &&
		span.Until.After(span.Since) && span.Since.After(c.LastMoved())
}

// PutBetween puts late spans of an object in their places among those that are stored, the oldest first, and
// returns the writes that do the same to these. Of the stored ones the first that may be missing ends before
// the late ones begin. PutBetween does nothing, and returns false, if those that are stored do not end as is
// known: then others have been stored meanwhile, or the object is gone.
func (l *Ledger) PutBetween(o Object, stored, late []Span) (writes []SpanWrite, ok bool) {
	r := l.book.find(o)
	open := time.Time{} // since when the stored span lasts
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

// newHistory returns the end of a history whose last span lasts.
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

// insertSpan returns a history with a late span in its place. What began later is known better, and stays;
// the span in which the late one begins is clipped, or goes on behind it. Neighbours that say the same are
// made one.
func insertSpan(all []Span, late Span) []Span {
	i, _ := slices.BinarySearchFunc(all, late.Since, func(s Span, since time.Time) int {
		return cmp.Or(s.Since.Compare(since), -1) // the first that begins later
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
		follows := j == 0 && s.Since.Equal(late.Until) // so that it is known what ran just before
		next = append(next, placedSpan{s, follows || inheritsRevision(all, i+j)}.withRevision(next))
	}
	return joinSpans(next, max(len(head)-1, 0))
}

// placedSpan is a span in a history that changes.
type placedSpan struct {
	Span
	inherits bool // whether it runs what the one before does
}

// placeWithin returns a span, which is behind others, with a late one that begins in it.
func (p placedSpan) placeWithin(late placedSpan, head []Span) (placed []placedSpan) {
	before, behind := p, p
	if p.Since.Before(late.Since) {
		before.Until = late.Since
		placed = append(placed, before)
		head = append(slices.Clone(head), before.withRevision(head))
	}
	if p.saysSame(late.withRevision(head)) { // it is known
		return []placedSpan{p}
	}
	placed = append(placed, late)
	if p.contains(late.Until) {
		behind.Since, behind.Late = late.Until, true
		placed = append(placed, behind)
	}
	return placed
}

// inheritsRevision reports whether a span that is not ready runs what the one before does.
func inheritsRevision(all []Span, i int) bool {
	return all[i].Phase != Ready && all[i].Revision == lastRevision(all[:i])
}

// lastRevision returns the revision that the last of some spans runs; "" for none.
func lastRevision(all []Span) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Revision
}

// withRevision returns a span as it is behind others. Of one that lasts it is known what it runs.
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

// joinSpans returns spans in which neighbours that say the same are one, from the span of a number on.
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

// contains reports whether a span that began by then lasts at a time.
func (s Span) contains(at time.Time) bool { return s.Until.IsZero() || s.Until.After(at) }

// saysSame reports whether two spans say the same, whenever they do.
func (s Span) saysSame(other Span) bool {
	return s.Phase == other.Phase && s.Revision == other.Revision && s.Attempted == other.Attempted
}

// compareSpans returns the writes that make one history of an object another one.
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

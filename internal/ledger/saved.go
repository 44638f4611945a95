package ledger

import (
	"iter"
	"unique"
)

// Saved is what has to be stored of an object, so that the next process knows the same of it.
type Saved struct {
	Object Object
	State  State
	// Reports fold into State, now and with whatever comes.
	Reports []Report
	// Open is the span that lasts, and Before the one before it; zero if there is none.
	Open, Before Span
	Identity     Identity
}

// IsPlain reports whether all that is known follows from State, as it does of most objects: from one
// report, of a phase at a revision.
func (s Saved) IsPlain() bool {
	return len(s.Reports) == 1 && s.Reports[0].Runs == "" && s.Reports[0].Phase == s.State.Phase &&
		s.Reports[0].Target == s.State.Target() && (s.State.Phase == Ready || s.State.Revision == "")
}

// IsSame reports whether the states of two objects differ only in what each report brings anew.
func (s Saved) IsSame(other Saved) bool {
	return s.Object == other.Object && s.State.isSame(other.State)
}

// Save returns what has to be stored of an object, and false if it is not known.
func (l *Ledger) Save(o Object) (Saved, bool) {
	r := l.book.find(o)
	if r == nil {
		return Saved{}, false
	}
	m := r.memory()
	s := Saved{Object: o, State: m.state(), Reports: m.reports(o), Open: r.open.span(), Before: r.before.span()}
	s.Open.Message, s.Open.Plan, s.Open.App = s.State.Message, s.State.Plan, s.State.App
	if found := l.book.identities[r]; found != nil {
		s.Identity = found.Identity
	}
	return s, true
}

// SaveAll returns what has to be stored of all objects, in no order.
func (l *Ledger) SaveAll() iter.Seq[Saved] {
	return func(yield func(Saved) bool) {
		for o := range l.book.All() {
			s, _ := l.Save(o)
			if !yield(s) {
				return
			}
		}
	}
}

// SaveCluster returns what has to be stored of the objects of a cluster, by name.
func (l *Ledger) SaveCluster(id string) []Saved {
	names := l.book.names(id)
	all := make([]Saved, 0, len(names))
	for _, name := range names {
		s, _ := l.Save(Object{id, name})
		all = append(all, s)
	}
	return all
}

// RestoreCluster takes in what was stored of a cluster. It must not be known.
func (l *Ledger) RestoreCluster(c Cluster) {
	l.roster.add(&c)
	if c.LastSeen.After(l.heard) {
		l.heard = c.LastSeen
	}
}

// FindReplaced returns the IDs of the clusters that ReplaceCluster would replace.
func (l *Ledger) FindReplaced(c Cluster) (ids []string) {
	for _, known := range l.roster.findRivals(c) {
		ids = append(ids, known.ID)
	}
	return ids
}

// ReplaceCluster takes in what was stored of a cluster in the place of all that is known of it, and of
// clusters that have one of its names or its uid.
func (l *Ledger) ReplaceCluster(c Cluster) {
	for _, known := range l.roster.findRivals(c) {
		l.roster.remove(known)
		for _, name := range l.book.names(known.ID) {
			l.book.remove(Object{known.ID, name})
		}
	}
	l.RestoreCluster(c)
}

// RestoreObject takes in what was stored of an object. It must not be known. State is not read: it
// follows from Reports.
func (l *Ledger) RestoreObject(s Saved) {
	var m memory
	for _, report := range s.Reports {
		m.fold(report)
	}
	r := &record{kept: newKept(m), history: history{open: newMark(s.Open), before: newMark(s.Before)}}
	of := l.roster.Find(s.Object.Cluster)
	if of != nil && s.Identity.UID != "" {
		l.book.identities[r] = &identity{s.Identity, of.LastSeen}
	}
	if of != nil && r.open.since == unixSeconds(of.LastMoved()) { // see history.cut
		r.before = mark{}
	}
	l.book.add(s.Object, r)
}

// newMark is the inverse of mark.span.
func newMark(s Span) mark {
	if s.Since.IsZero() {
		return mark{}
	}
	return mark{unique.Make(s.Revision), unique.Make(s.Attempted), unixSeconds(s.Since), s.Phase, s.Late}
}

// span returns a mark as a span, without what a mark does not have.
func (m mark) span() Span {
	if m.since == 0 {
		return Span{}
	}
	return Span{Since: timeOf(m.since), Phase: m.phase, Revision: m.revision.Value(), Attempted: m.attempted.Value(), Late: m.late}
}

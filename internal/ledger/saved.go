package ledger

import (
	"iter"
	"unique"
)

// Saved is what must be stored of an object.
type Saved struct {
	Object Object
	State  State
	// Reports fold into an equivalent memory.
	Reports []Report
	// Open is the span that lasts, and Before its predecessor; zero for none.
	Open, Before Span
	Identity     Identity
}

// IsPlain reports whether everything follows from State, as for most objects.
func (s Saved) IsPlain() bool {
	return len(s.Reports) == 1 && s.Reports[0].Runs == "" && s.Reports[0].Phase == s.State.Phase &&
		s.Reports[0].Target == s.State.Target() && (s.State.Phase == Ready || s.State.Revision == "")
}

// IsSame ignores what every report changes.
func (s Saved) IsSame(other Saved) bool {
	return s.Object == other.Object && s.State.isSame(other.State)
}

// Save returns what must be stored of an object, and false if it is unknown.
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

// SaveAll returns what must be stored of all objects, unordered.
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

// SaveCluster returns what must be stored of a cluster's objects, by name.
func (l *Ledger) SaveCluster(id string) []Saved {
	names := l.book.names(id)
	all := make([]Saved, 0, len(names))
	for _, name := range names {
		s, _ := l.Save(Object{id, name})
		all = append(all, s)
	}
	return all
}

// RestoreCluster adds a stored cluster, which must be unknown.
func (l *Ledger) RestoreCluster(c Cluster) {
	l.roster.add(&c)
	if c.LastSeen.After(l.heard) {
		l.heard = c.LastSeen
	}
}

// FindReplaced returns the IDs of clusters that ReplaceCluster would replace.
func (l *Ledger) FindReplaced(c Cluster) (ids []string) {
	for _, known := range l.roster.findRivals(c) {
		ids = append(ids, known.ID)
	}
	return ids
}

// ReplaceCluster adds a stored cluster and removes those that share a name or uid.
func (l *Ledger) ReplaceCluster(c Cluster) {
	for _, known := range l.roster.findRivals(c) {
		l.roster.remove(known)
		for _, name := range l.book.names(known.ID) {
			l.book.remove(Object{known.ID, name})
		}
	}
	l.RestoreCluster(c)
}

// RestoreObject adds a stored object, which must be unknown. State follows from Reports.
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
	if of != nil && r.open.since == unixSeconds(of.LastMoved()) {
		r.before = mark{}
	}
	l.book.add(s.Object, r)
}

func newMark(s Span) mark {
	if s.Since.IsZero() {
		return mark{}
	}
	return mark{unique.Make(s.Revision), unique.Make(s.Attempted), unixSeconds(s.Since), s.Phase, s.Late}
}

func (m mark) span() Span {
	if m.since == 0 {
		return Span{}
	}
	return Span{Since: timeOf(m.since), Phase: m.phase, Revision: m.revision.Value(), Attempted: m.attempted.Value(), Late: m.late}
}

package ledger

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

// Book has what is known of every object. Its memory is about 150 bytes an object.
type Book struct {
	limit, count int
	// clusters have the objects of each cluster, by its ID, sorted by name.
	clusters map[string][]*record
	// identities are those of the objects of which an event has told a uid.
	identities map[*record]*identity
}

// record is what is kept of an object.
type record struct {
	name unique.Handle[string]
	kept
	history
}

// NewBook returns a Book that knows at most limit objects.
func NewBook(limit int) *Book {
	return &Book{limit: limit, clusters: map[string][]*record{}, identities: map[*record]*identity{}}
}

// Outcome is what a report has changed.
type Outcome struct {
	// Refused is set if the object is not known, and the Book is full.
	Refused bool
	// Newer is set if anything in the report is newer than what was known.
	Newer bool
	// Changed is set if the state is another one, apart from its time and message.
	Changed bool
	// Named is set if it is known by now what the revision that runs is called, and was not before.
	Named bool
	// Before is what was known before.
	Before State
}

// Fold takes a report in. A report about an object that is not known is refused if the Book is full.
func (b *Book) Fold(r Report) Outcome {
	done, _ := b.fold(r)
	return done
}

// fold is Fold, and returns the record of the object; nil if nothing was done.
func (b *Book) fold(r Report) (Outcome, *record) {
	if r.isEmpty() {
		return Outcome{}, nil
	}
	known := b.find(r.Object)
	if known == nil {
		if b.count >= b.limit {
			return Outcome{Refused: true}, nil
		}
		known = &record{}
		b.add(r.Object, known)
	}
	old := known.memory()
	before, next := old.state(), old
	next.fold(r)
	known.kept = newKept(next)
	next = known.memory()
	state := next.state()
	return Outcome{Newer: next != old, Changed: !state.isSame(before), Named: state.App != "" && state.App != before.App, Before: before}, known
}

// rename appends the write that has the last span say what the revision that runs is called.
func (known *record) rename(writes []SpanWrite, o Object) []SpanWrite {
	if known.open.since == 0 {
		return writes
	}
	state, open := known.state(), known.open.span()
	open.App, open.Message, open.Plan = state.App, state.Message, state.Plan
	return append(writes, SpanWrite{o, BeginSpan, open})
}

// search returns the objects of the cluster of an object, where it is among them, or should be, and whether
// it is there.
func (b *Book) search(o Object) (all []*record, i int, known bool) {
	all = b.clusters[o.Cluster]
	i, known = slices.BinarySearchFunc(all, o.Name, func(r *record, name string) int { return strings.Compare(r.name.Value(), name) })
	return all, i, known
}

// find returns what is kept of an object; nil if it is not known.
func (b *Book) find(o Object) *record {
	all, i, known := b.search(o)
	if !known {
		return nil
	}
	return all[i]
}

// add takes in an object that is not known.
func (b *Book) add(o Object, r *record) {
	all, i, _ := b.search(o)
	r.name = unique.Make(o.Name)
	b.clusters[o.Cluster] = slices.Insert(all, i, r)
	b.count++
}

// countObjects returns how many objects of a cluster are known.
func (b *Book) countObjects(cluster string) int { return len(b.clusters[cluster]) }

// Len returns how many objects are known.
func (b *Book) Len() int { return b.count }

// Find returns what is known of an object, and false if nothing is.
func (b *Book) Find(o Object) (State, bool) {
	known := b.find(o)
	if known == nil {
		return State{}, false
	}
	return known.state(), true
}

// findSince returns since when the state of a known object is what it is.
func (b *Book) findSince(o Object) time.Time { return timeOf(b.find(o).open.since) }

// All returns every object with its state, in no order.
func (b *Book) All() iter.Seq2[Object, State] {
	return func(yield func(Object, State) bool) {
		for cluster, objects := range b.clusters {
			for _, r := range objects {
				if !yield(Object{cluster, r.name.Value()}, r.state()) {
					return
				}
			}
		}
	}
}

// Reports returns the fewest reports that fold into what is known of an object, in any order.
func (b *Book) Reports(o Object) []Report {
	known := b.find(o)
	if known == nil {
		return nil
	}
	m := known.memory()
	return m.reports(o)
}

// RemoveSilent removes the objects that have said nothing since a time, and returns how many those
// are.
func (b *Book) RemoveSilent(since time.Time) (removed int) {
	for cluster, all := range b.clusters {
		for _, r := range slices.Clone(all) {
			if timeOf(r.grouped).Before(since) {
				b.remove(Object{cluster, r.name.Value()})
				removed++
			}
		}
	}
	return removed
}

// names returns the names of the known objects of a cluster, sorted.
func (b *Book) names(cluster string) []string {
	return list.Convert(b.clusters[cluster], func(r *record) string { return r.name.Value() })
}

// remove removes an object, and returns what was kept of it; nil if it was not known.
func (b *Book) remove(o Object) *record {
	all, i, known := b.search(o)
	if !known {
		return nil
	}
	removed := all[i]
	delete(b.identities, removed)
	b.count--
	if len(all) == 1 {
		delete(b.clusters, o.Cluster)
	} else {
		b.clusters[o.Cluster] = slices.Delete(all, i, i+1)
	}
	return removed
}

// RemoveCluster removes all objects of a cluster.
func (b *Book) RemoveCluster(cluster string) {
	b.count -= b.countObjects(cluster)
	for _, r := range b.clusters[cluster] {
		delete(b.identities, r)
	}
	delete(b.clusters, cluster)
}

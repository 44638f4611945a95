package ledger

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

// Book has the states of all objects, in about 150 bytes each.
type Book struct {
	limit, count int
	// by cluster ID, sorted by name
	clusters map[string][]*record
	// identities has only objects with a uid from an event.
	identities map[*record]*identity
}

type record struct {
	name unique.Handle[string]
	kept
	history
}

// NewBook returns a Book for at most limit objects.
func NewBook(limit int) *Book {
	return &Book{limit: limit, clusters: map[string][]*record{}, identities: map[*record]*identity{}}
}

// Outcome is the effect of a report.
type Outcome struct {
	// Refused is set if a full Book lacks the object.
	Refused bool
	// Newer is set if anything in the report is newer.
	Newer bool
	// Changed is set if the state differs in more than time and message.
	Changed bool
	// Named is set if the report first names the running application version.
	Named  bool
	Before State
}

// Fold applies a report. A full Book refuses unknown objects.
func (b *Book) Fold(r Report) Outcome {
	done, _ := b.fold(r)
	return done
}

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

func (known *record) rename(writes []SpanWrite, o Object) []SpanWrite {
	if known.open.since == 0 {
		return writes
	}
	state, open := known.state(), known.open.span()
	open.App, open.Message, open.Plan = state.App, state.Message, state.Plan
	return append(writes, SpanWrite{o, BeginSpan, open})
}

func (b *Book) search(o Object) (all []*record, i int, known bool) {
	all = b.clusters[o.Cluster]
	i, known = slices.BinarySearchFunc(all, o.Name, func(r *record, name string) int { return strings.Compare(r.name.Value(), name) })
	return all, i, known
}

func (b *Book) find(o Object) *record {
	all, i, known := b.search(o)
	if !known {
		return nil
	}
	return all[i]
}

func (b *Book) add(o Object, r *record) {
	all, i, _ := b.search(o)
	r.name = unique.Make(o.Name)
	b.clusters[o.Cluster] = slices.Insert(all, i, r)
	b.count++
}

func (b *Book) countObjects(cluster string) int { return len(b.clusters[cluster]) }

// Len returns the number of objects.
func (b *Book) Len() int { return b.count }

// Find returns the state of an object, and false if unknown.
func (b *Book) Find(o Object) (State, bool) {
	known := b.find(o)
	if known == nil {
		return State{}, false
	}
	return known.state(), true
}

func (b *Book) findSince(o Object) time.Time { return timeOf(b.find(o).open.since) }

// All returns every object with its state, unordered.
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

// Reports returns the fewest reports that fold into an object's memory.
func (b *Book) Reports(o Object) []Report {
	known := b.find(o)
	if known == nil {
		return nil
	}
	m := known.memory()
	return m.reports(o)
}

// RemoveSilent removes objects without reports since a time and returns their number.
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

func (b *Book) names(cluster string) []string {
	return list.Convert(b.clusters[cluster], func(r *record) string { return r.name.Value() })
}

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

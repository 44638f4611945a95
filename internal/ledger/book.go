package ledger

import (
	"cmp"
	"iter"
	"slices"
	"time"
	"unique"
)

// Book has what is known of every object. Its memory is about 150 bytes an object.
type Book struct {
	limit   int
	objects map[objectKey]*record
	// named are the names of the objects of each cluster.
	named map[unique.Handle[string]][]unique.Handle[string]
}

// record is what is kept of an object.
type record struct {
	memory
	history
}

// objectKey is an Object with interned names.
type objectKey struct{ cluster, name unique.Handle[string] }

func newKey(o Object) objectKey { return objectKey{unique.Make(o.Cluster), unique.Make(o.Name)} }

func (k objectKey) object() Object { return Object{k.cluster.Value(), k.name.Value()} }

// NewBook returns a Book that knows at most limit objects.
func NewBook(limit int) *Book {
	return &Book{limit, map[objectKey]*record{}, map[unique.Handle[string]][]unique.Handle[string]{}}
}

// Outcome is what a report has changed.
type Outcome struct {
	// Refused is set if the object is not known, and the Book is full.
	Refused bool
	// Newer is set if anything in the report is newer than what was known.
	Newer bool
	// Changed is set if the state is another one, apart from its time and message.
	Changed bool
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
	key := newKey(r.Object)
	known := b.objects[key]
	if known == nil {
		if len(b.objects) >= b.limit {
			return Outcome{Refused: true}, nil
		}
		known = &record{}
		b.add(key, known)
	}
	old := known.memory
	before := old.state()
	known.memory.fold(r)
	return Outcome{Newer: known.memory != old, Changed: !known.state().isSame(before), Before: before}, known
}

// add takes in an object that is not known.
func (b *Book) add(key objectKey, r *record) {
	b.objects[key] = r
	b.named[key.cluster] = append(b.named[key.cluster], key.name)
}

// listFailed returns the objects of a cluster that have failed, by name.
func (b *Book) listFailed(cluster string) (all []Object) {
	key := objectKey{cluster: unique.Make(cluster)}
	for _, key.name = range b.named[key.cluster] {
		if b.objects[key].current().phase == Failed {
			all = append(all, key.object())
		}
	}
	slices.SortFunc(all, func(x, y Object) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

// countObjects returns how many objects of a cluster are known.
func (b *Book) countObjects(cluster string) int { return len(b.named[unique.Make(cluster)]) }

// Len returns how many objects are known.
func (b *Book) Len() int { return len(b.objects) }

// Find returns what is known of an object, and false if nothing is.
func (b *Book) Find(o Object) (State, bool) {
	m := b.objects[newKey(o)]
	if m == nil {
		return State{}, false
	}
	return m.state(), true
}

// findSince returns since when the state of a known object is what it is.
func (b *Book) findSince(o Object) time.Time { return timeOf(b.objects[newKey(o)].open.since) }

// All returns every object with its state, in no order.
func (b *Book) All() iter.Seq2[Object, State] {
	return func(yield func(Object, State) bool) {
		for key, m := range b.objects {
			if !yield(key.object(), m.state()) {
				return
			}
		}
	}
}

// Reports returns the fewest reports that fold into what is known of an object, in any order.
func (b *Book) Reports(o Object) []Report {
	m := b.objects[newKey(o)]
	if m == nil {
		return nil
	}
	return m.reports(o)
}

// RemoveSilent removes the objects that have said nothing since a time, and returns how many those
// are.
func (b *Book) RemoveSilent(since time.Time) (removed int) {
	for key, m := range b.objects {
		if timeOf(m.grouped).Before(since) {
			b.remove(key.object())
			removed++
		}
	}
	return removed
}

// names returns the names of the known objects of a cluster.
func (b *Book) names(cluster string) []string {
	var names []string
	for _, name := range b.named[unique.Make(cluster)] {
		names = append(names, name.Value())
	}
	return names
}

// remove removes an object, and returns what was kept of it; nil if it was not known.
func (b *Book) remove(o Object) *record {
	key := newKey(o)
	known := b.objects[key]
	if known == nil {
		return nil
	}
	delete(b.objects, key)
	names := b.named[key.cluster]
	names = slices.Delete(names, slices.Index(names, key.name), slices.Index(names, key.name)+1)
	if len(names) == 0 {
		delete(b.named, key.cluster)
	} else {
		b.named[key.cluster] = names
	}
	return known
}

// RemoveCluster removes all objects of a cluster.
func (b *Book) RemoveCluster(cluster string) {
	for _, name := range b.names(cluster) {
		b.remove(Object{cluster, name})
	}
}

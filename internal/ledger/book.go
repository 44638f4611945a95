package ledger

import (
	"iter"
	"time"
	"unique"
)

// Book has what is known of every object. Its memory is about 150 bytes an object.
type Book struct {
	limit   int
	objects map[objectKey]*memory
}

// objectKey is an Object with interned names.
type objectKey struct{ cluster, name unique.Handle[string] }

func newKey(o Object) objectKey { return objectKey{unique.Make(o.Cluster), unique.Make(o.Name)} }

func (k objectKey) object() Object { return Object{k.cluster.Value(), k.name.Value()} }

// NewBook returns a Book that knows at most limit objects.
func NewBook(limit int) *Book { return &Book{limit, map[objectKey]*memory{}} }

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
	if r.isEmpty() {
		return Outcome{}
	}
	key := newKey(r.Object)
	m := b.objects[key]
	if m == nil {
		if len(b.objects) >= b.limit {
			return Outcome{Refused: true}
		}
		m = &memory{}
		b.objects[key] = m
	}
	old := *m
	before := old.state()
	m.fold(r)
	return Outcome{Newer: *m != old, Changed: !m.state().isSame(before), Before: before}
}

// Len returns how many objects are known.
func (b *Book) Len() int { return len(b.objects) }

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
			delete(b.objects, key)
			removed++
		}
	}
	return removed
}

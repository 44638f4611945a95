package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// maxHeldSpans is how many writes are held of one object while its store is away. The oldest spans
// are given up first.
const maxHeldSpans = 32

// Pending are the span writes that a store does not have yet: one for each span, whatever has become
// of it meanwhile. They may be written twice. The zero Pending has none.
type Pending struct {
	objects map[Object]map[time.Time]SpanWrite // by Span.Since
	count   int
}

// Len returns how many writes there are.
func (p *Pending) Len() int { return p.count }

// Add takes in a write that follows all others.
func (p *Pending) Add(w SpanWrite) {
	if p.objects == nil {
		p.objects = map[Object]map[time.Time]SpanWrite{}
	}
	spans := p.objects[w.Object]
	if spans == nil {
		spans = map[time.Time]SpanWrite{}
		p.objects[w.Object] = spans
	}
	held, known := spans[w.Span.Since]
	if known && held.Kind == BeginSpan && w.Kind == EndSpan {
		held.Span.Until = w.Span.Until
		w = held
	}
	spans[w.Span.Since] = w
	if !known {
		p.count++
	}
	if len(spans) > maxHeldSpans {
		delete(spans, slices.MinFunc(slices.Collect(maps.Keys(spans)), time.Time.Compare))
		p.count--
	}
}

// Follow adds writes that came after those that p has.
func (p *Pending) Follow(later *Pending) {
	for _, w := range later.All() {
		p.Add(w)
	}
}

// RemoveClusters removes the writes of the objects of clusters.
func (p *Pending) RemoveClusters(isRemoved func(id string) bool) {
	for o, spans := range p.objects {
		if isRemoved(o.Cluster) {
			p.count -= len(spans)
			delete(p.objects, o)
		}
	}
}

// All returns the writes, by object, and by time for each object.
func (p *Pending) All() []SpanWrite {
	all := make([]SpanWrite, 0, p.count)
	for _, spans := range p.objects {
		for _, w := range spans {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b SpanWrite) int {
		return cmp.Or(a.Object.Compare(b.Object), a.Span.Since.Compare(b.Span.Since))
	})
	return all
}

// Compare orders objects by cluster and name.
func (o Object) Compare(other Object) int {
	return cmp.Or(cmp.Compare(o.Cluster, other.Cluster), cmp.Compare(o.Name, other.Name))
}

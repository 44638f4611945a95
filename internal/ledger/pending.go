package ledger

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// maxHeldSpans limits the held writes of an object; the oldest are dropped.
const maxHeldSpans = 32

// Pending has the writes that a store lacks, merged per span. They may be written twice. The zero
// Pending is empty.
type Pending struct {
	objects map[Object][]SpanWrite // by object, sorted by Span.Since
	count   int
}

// Len returns the number of writes.
func (p *Pending) Len() int { return p.count }

// Add adds the newest write.
func (p *Pending) Add(w SpanWrite) {
	if p.objects == nil {
		p.objects = map[Object][]SpanWrite{}
	}
	spans := p.objects[w.Object]
	if spans == nil {
		spans = make([]SpanWrite, 0, 2)
	}
	i, known := slices.BinarySearchFunc(spans, w.Span.Since, func(held SpanWrite, since time.Time) int { return held.Span.Since.Compare(since) })
	switch {
	case !known:
		spans = slices.Insert(spans, i, w)
		p.count++
	case spans[i].Kind == BeginSpan && w.Kind == EndSpan:
		spans[i].Span.Until = w.Span.Until
	default:
		spans[i] = w
	}
	if len(spans) > maxHeldSpans {
		spans = slices.Delete(spans, 0, 1)
		p.count--
	}
	p.objects[w.Object] = spans
}

// Follow adds later writes.
func (p *Pending) Follow(later *Pending) {
	for _, w := range later.All() {
		p.Add(w)
	}
}

// RemoveClusters removes writes of clusters.
func (p *Pending) RemoveClusters(isRemoved func(id string) bool) {
	for o, spans := range p.objects {
		if isRemoved(o.Cluster) {
			p.count -= len(spans)
			delete(p.objects, o)
		}
	}
}

// All returns the writes by object and time.
func (p *Pending) All() []SpanWrite {
	all := make([]SpanWrite, 0, p.count)
	for _, o := range SortObjects(p.objects) {
		all = append(all, p.objects[o]...)
	}
	return all
}

// SortObjects returns the keys of a map by cluster and name.
func SortObjects[V any](of map[Object]V) []Object {
	all := slices.AppendSeq(make([]Object, 0, len(of)), maps.Keys(of))
	slices.SortFunc(all, Object.Compare)
	return all
}

// Compare orders objects by cluster and name.
func (o Object) Compare(other Object) int {
	if o.Cluster != other.Cluster {
		return strings.Compare(o.Cluster, other.Cluster)
	}
	return strings.Compare(o.Name, other.Name)
}

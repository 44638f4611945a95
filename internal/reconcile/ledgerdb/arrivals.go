package ledgerdb

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// spanChange is from when on the spans of a platform object are others than before.
type spanChange struct {
	since int64 // when the oldest span began that is written
	from  int64 // before which nothing has changed: that may have ended later than was known
}

// writeArrivals writes when outputs came to the clusters of a batch, by the spans of their platform
// objects that the batch has written.
func (w *batchWriter) writeArrivals(ctx context.Context, b Batch) error {
	changed := findSpanChanges(b)
	for _, c := range b.Clusters {
		s, ok := changed[ledger.Object{Cluster: c.ID, Name: c.Platform}]
		if !ok {
			continue
		}
		id := w.ids.clusters[c.ID].id
		err := w.exec(ctx, "arrival_forget", id, s.from)
		if err == nil {
			err = w.exec(ctx, "arrival_of_cluster", id, s.since)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findSpanChanges returns from when on the spans of platform objects are others, by object.
func findSpanChanges(b Batch) map[ledger.Object]spanChange {
	changed := map[ledger.Object]spanChange{}
	platforms := map[ledger.Object]bool{}
	for _, c := range b.Clusters {
		if c.Platform != "" {
			platforms[ledger.Object{Cluster: c.ID, Name: c.Platform}] = true
		}
	}
	for _, s := range b.Spans {
		if !platforms[s.Object] {
			continue
		}
		next := spanChange{unixOf(s.Span.Since), unixOf(s.Span.Since)}
		if s.Kind == ledger.EndSpan && !s.Span.Until.IsZero() {
			next.from = unixOf(s.Span.Until)
		}
		known, ok := changed[s.Object]
		if ok {
			next = spanChange{min(known.since, next.since), min(known.from, next.from)}
		}
		changed[s.Object] = next
	}
	return changed
}

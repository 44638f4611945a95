package ledgerdb

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

type spanChange struct {
	since int64 // start of the oldest written span
	from  int64 // nothing before it changed: an EndSpan changes only what follows its end
}

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

package ledgerdb

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// writeArrivals writes when outputs came to the clusters of a batch, by the spans of their platform
// objects that the batch has written.
func (w *batchWriter) writeArrivals(ctx context.Context, b Batch) error {
	platforms := map[ledger.Object]bool{}
	for _, c := range b.Clusters {
		if c.Platform != "" {
			platforms[ledger.Object{Cluster: c.ID, Name: c.Platform}] = true
		}
	}
	since := map[string]int64{} // the oldest of them, by cluster
	for _, s := range b.Spans {
		if !platforms[s.Object] {
			continue
		}
		at := unixOf(s.Span.Since)
		oldest, known := since[s.Object.Cluster]
		if !known || at < oldest {
			since[s.Object.Cluster] = at
		}
		err := w.forgetArrivals(ctx, s)
		if err != nil {
			return err
		}
	}
	for _, c := range b.Clusters {
		oldest, known := since[c.ID]
		if !known {
			continue
		}
		err := w.exec(ctx, "arrival_of_cluster", w.ids.clusters[c.ID], oldest)
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetArrivals forgets that a span was an arrival, if it was too short to count.
func (w *batchWriter) forgetArrivals(ctx context.Context, s ledger.SpanWrite) error {
	if s.Kind == ledger.EndSpan {
		return nil
	}
	for _, statement := range []string{"arrival_forget_ready", "arrival_forget_failed"} {
		err := w.exec(ctx, statement, w.ids.clusters[s.Object.Cluster], unixOf(s.Span.Since))
		if err != nil {
			return err
		}
	}
	return nil
}

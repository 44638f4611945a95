package ledgerdb

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Batch is what is written at a time. The clusters of its objects are in it, or were written before.
type Batch struct {
	Clusters []ledger.Cluster
	// Objects and Spans are best sorted by object.
	Objects []ledger.Saved
	Spans   []ledger.SpanWrite
	// Gone are the objects that their clusters no longer have, since a time.
	Gone      []ledger.Object
	GoneSince time.Time
	// Refusals are added to those that are stored.
	Refusals []ledger.Refusals
}

// IsEmpty reports whether there is nothing to write.
func (b *Batch) IsEmpty() bool {
	return len(b.Clusters) == 0 && len(b.Objects) == 0 && len(b.Spans) == 0 && len(b.Gone) == 0 && len(b.Refusals) == 0
}

// Write writes a batch whole or not at all. It may be written again, but for its refusals, which then count
// again.
func (s *Store) Write(ctx context.Context, b Batch) error {
	return s.Update(ctx, func(News) Batch { return b })
}

// Update writes the batch that take returns whole or not at all. If other processes may write to the
// database, take is told of the clusters that they have changed since this one has last read or
// written, and none of them writes before this is done.
func (s *Store) Update(ctx context.Context, take func(News) Batch) error {
	generation := s.generation
	err := s.engine.transact(ctx, func(in session) error {
		var n News
		var err error
		if s.shared {
			err = s.compareGeneration(ctx, in)
			if err == nil {
				n, err = loadNews(ctx, in, s.generation)
			}
			if err != nil {
				return err
			}
		}
		for _, c := range n.Clusters {
			s.ids.forget(c.ID)
		}
		err = newBatchWriter(in, &s.ids).writeBatch(ctx, take(n))
		if err == nil && s.shared {
			generation, err = loadGeneration(ctx, in)
		}
		return err
	})
	if err != nil {
		s.ids = newIdentities() // some may never have been written
		return fmt.Errorf("write the ledger: %w", err)
	}
	s.generation = generation
	return nil
}

// compareGeneration returns ErrRestored if the database does not have what was last read or written.
func (s *Store) compareGeneration(ctx context.Context, in session) error {
	generation, err := loadGeneration(ctx, in)
	if err == nil && generation < s.generation {
		err = ErrRestored
	}
	return err
}

// HasNews reports whether other processes have changed anything since this one has last read or written.
func (s *Store) HasNews(ctx context.Context) (bool, error) {
	generation := s.generation
	err := s.engine.read(ctx, func(in session) (err error) {
		generation, err = loadGeneration(ctx, in)
		return err
	})
	if err == nil && generation < s.generation {
		err = ErrRestored
	}
	if err != nil {
		return false, fmt.Errorf("read the ledger: %w", err)
	}
	return generation != s.generation, nil
}

func (w *batchWriter) writeBatch(ctx context.Context, b Batch) error {
	for i := range b.Clusters {
		err := w.writeCluster(ctx, &b.Clusters[i])
		if err != nil {
			return err
		}
	}
	for i := range b.Objects {
		err := w.writeObject(ctx, &b.Objects[i])
		if err != nil {
			return err
		}
	}
	for i := range b.Spans {
		err := w.writeSpan(ctx, &b.Spans[i])
		if err != nil {
			return err
		}
	}
	for _, o := range b.Gone {
		err := w.writeGone(ctx, o, b.GoneSince)
		if err != nil {
			return err
		}
	}
	err := w.writeArrivals(ctx, b)
	if err != nil {
		return err
	}
	return w.writeRefusals(ctx, b.Refusals)
}

func (w *batchWriter) writeCluster(ctx context.Context, c *ledger.Cluster) error {
	id, _, err := w.findID(ctx, "cluster_write", c.ID, c.Name(), c.UID, c.Group.Environment, c.Group.ClusterType, c.Platform, c.Unproven, seconds(c.Every),
		unixOf(c.FirstSeen), unixOf(c.LastSeen), c.Rival, unixOf(c.RivalSeen), c.Boot, int64(c.Sequence), unixOf(c.Sent), unixOf(c.AgentSeen), c.Digest)
	if err != nil {
		return err
	}
	w.ids.clusters[c.ID] = id
	for i, n := range c.Names {
		var until any
		if i+1 < len(c.Names) {
			until = unixOf(c.Names[i+1].Since)
		}
		if err := w.exec(ctx, "cluster_name_write", id, unixOf(n.Since), until, n.Name); err != nil {
			return err
		}
	}
	return nil
}

func (w *batchWriter) writeObject(ctx context.Context, s *ledger.Saved) error {
	id, err := w.objectID(ctx, s.Object)
	if err != nil {
		return err
	}
	cluster, err := w.clusterID(ctx, s.Object.Cluster)
	if err != nil {
		return err
	}
	texts, err := w.textIDs(ctx, s.State.Revision, s.State.Attempted, s.State.Message)
	if err != nil {
		return err
	}
	level := len(s.Reports) > 0 && s.Reports[0].Level
	err = w.exec(ctx, "state_write", id, cluster, int64(s.State.Phase), texts[0], texts[1], unixOf(s.Open.Since), unixOf(s.State.Said), level, texts[2])
	if err != nil {
		return err
	}
	if err := w.exec(ctx, "evidence_delete", id); err != nil || s.IsPlain() {
		return err
	}
	for i, r := range s.Reports {
		texts, err := w.textIDs(ctx, r.Target, r.Runs, r.Message)
		if err != nil {
			return err
		}
		if err := w.exec(ctx, "evidence_write", id, int64(i), int64(r.Phase), texts[0], texts[1], unixOf(r.Said), r.Level, texts[2]); err != nil {
			return err
		}
	}
	return nil
}

// writeGone ends what is known of an object. Its history stays.
func (w *batchWriter) writeGone(ctx context.Context, o ledger.Object, since time.Time) error {
	id, err := w.objectID(ctx, o)
	if err != nil {
		return err
	}
	delete(w.ids.objects[o.Cluster], o.Name) // so that it is revived when it is back
	if err := w.exec(ctx, "object_gone", id, unixOf(since)); err != nil {
		return err
	}
	if err := w.exec(ctx, "state_delete", id); err != nil {
		return err
	}
	return w.exec(ctx, "evidence_delete", id)
}

// textIDs returns the ids of two revisions and a message.
func (w *batchWriter) textIDs(ctx context.Context, first, second, message string) (ids [3]any, err error) {
	ids[0], err = w.revisionID(ctx, first)
	if err == nil {
		ids[1], err = w.revisionID(ctx, second)
	}
	if err == nil {
		ids[2], err = w.messageID(ctx, message)
	}
	return ids, err
}

func (w *batchWriter) writeSpan(ctx context.Context, x *ledger.SpanWrite) error {
	id, err := w.objectID(ctx, x.Object)
	if err != nil {
		return err
	}
	since, until := unixOf(x.Span.Since), unixOrNull(x.Span.Until)
	switch x.Kind {
	case ledger.EndSpan:
		return w.exec(ctx, "span_end", id, since, until)
	case ledger.DeleteSpan:
		return w.exec(ctx, "span_delete", id, since)
	}
	texts, err := w.textIDs(ctx, x.Span.Revision, x.Span.Attempted, x.Span.Message)
	if err != nil {
		return err
	}
	return w.exec(ctx, "span_begin", id, since, until, int64(x.Span.Phase), texts[0], texts[1], texts[2], x.Span.Late)
}

// unixOf returns a time in seconds since 1970; 0 for the zero time.
func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// unixOrNull returns a time in seconds since 1970; null for the zero time.
func unixOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

// timeOf is the inverse of unixOf.
func timeOf(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

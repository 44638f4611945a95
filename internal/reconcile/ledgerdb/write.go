package ledgerdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Batch is one write. The clusters of its objects are included or already stored.
type Batch struct {
	Clusters []ledger.Cluster
	// Objects and Spans should be sorted by object, without duplicates.
	Objects   []ledger.Saved
	Spans     []ledger.SpanWrite
	Gone      []ledger.Object
	GoneSince time.Time
	// Refusals are added to the stored counts.
	Refusals []ledger.Refusals
}

// IsEmpty reports whether there is nothing to write.
func (b *Batch) IsEmpty() bool {
	return len(b.Clusters) == 0 && len(b.Objects) == 0 && len(b.Spans) == 0 && len(b.Gone) == 0 && len(b.Refusals) == 0
}

func (b *Batch) listChanged() []string {
	found := map[string]bool{}
	for i := range b.Objects {
		found[b.Objects[i].Object.Cluster] = true
	}
	for i := range b.Spans {
		found[b.Spans[i].Object.Cluster] = true
	}
	for _, o := range b.Gone {
		found[o.Cluster] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// Write writes a batch in one transaction. It may be repeated, but refusals then count twice.
func (s *Store) Write(ctx context.Context, b Batch) error {
	return s.Update(ctx, func(News) Batch { return b })
}

// Update writes the batch that take returns. In a shared database, take gets the clusters that
// other processes changed since the last access; none writes meanwhile.
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
		if s.ids.objects.Len() > maxRemembered {
			s.ids.objects.Rotate()
		}
		if err == nil && s.shared {
			generation, err = loadGeneration(ctx, in)
		}
		return err
	})
	if err != nil {
		s.ids = newIdentities() // some may not be stored
		return fmt.Errorf("write the ledger: %w", err)
	}
	s.generation = generation
	return nil
}

func (s *Store) compareGeneration(ctx context.Context, in session) error {
	generation, err := loadGeneration(ctx, in)
	if err == nil && generation < s.generation {
		err = ErrRestored
	}
	return err
}

// HasNews reports whether other processes have written since the last access.
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
	err := w.loadObjects(ctx, b.listChanged())
	if err == nil {
		err = w.writeStates(ctx, b.Objects)
	}
	if err == nil {
		err = w.writeSpans(ctx, b.Spans)
	}
	if err == nil {
		err = w.writeGone(ctx, b.Gone, b.GoneSince)
	}
	if err == nil {
		err = w.writeArrivals(ctx, b)
	}
	if err != nil {
		return err
	}
	return w.writeRefusals(ctx, b.Refusals)
}

func (w *batchWriter) writeCluster(ctx context.Context, c *ledger.Cluster) error {
	err := w.exec(ctx, "cluster_write", c.ID, c.Name(), c.UID, c.Group.Environment, c.Group.ClusterType, c.Platform, c.Unproven, seconds(c.Every),
		unixOf(c.FirstSeen), unixOf(c.LastSeen), c.Rival, unixOf(c.RivalSeen), c.Boot, int64(c.Sequence), unixOf(c.Sent), unixOf(c.AgentSeen), c.Digest,
		c.RivalObject, unixOf(c.Began), ledger.EncodeAppliers(c.Others))
	if err != nil {
		return err
	}
	id, err := w.clusterID(ctx, c.ID)
	if err != nil {
		return err
	}
	known := w.ids.clusters[c.ID]
	err = w.writeNames(ctx, id, c.Names, &known)
	if err == nil {
		err = w.writePlaces(ctx, id, c.Places(), &known)
	}
	w.ids.clusters[c.ID] = known
	return err
}

func (w *batchWriter) writeNames(ctx context.Context, id int64, all []ledger.Naming, known *writtenCluster) error {
	named := int64(0)
	if len(all) > 0 {
		named = all[len(all)-1].Since.UnixNano()
	}
	if named == known.named {
		return nil
	}
	for i, n := range all {
		var until any
		if i+1 < len(all) {
			until = unixOf(all[i+1].Since)
		}
		err := w.exec(ctx, "cluster_name_write", id, unixOf(n.Since), until, n.Name)
		if err != nil {
			return err
		}
	}
	known.named = named
	return nil
}

func (w *batchWriter) writePlaces(ctx context.Context, id int64, all []ledger.Place, known *writtenCluster) error {
	for _, p := range all {
		if unixOf(p.Until) <= known.moved {
			continue
		}
		err := w.exec(ctx, "cluster_place_write", id, unixOf(p.Until), p.Group.Environment, p.Group.ClusterType)
		if err != nil {
			return err
		}
		known.moved = unixOf(p.Until)
	}
	return nil
}

func (w *batchWriter) writeStates(ctx context.Context, all []ledger.Saved) error {
	var outdated, evidence rows
	states := newRows(10, len(all))
	for i := range all {
		s := &all[i]
		id, of, err := w.objectID(ctx, s.Object)
		if err != nil {
			return err
		}
		texts, err := w.textIDs(ctx, s.State.Revision, s.State.Attempted, ledger.JoinDetail(s.State.Phase, s.State.Message, s.State.Plan))
		if err != nil {
			return err
		}
		app, err := w.revisionID(ctx, s.State.App)
		if err != nil {
			return err
		}
		level := len(s.Reports) > 0 && s.Reports[0].Level
		states.add(id, of.cluster, int64(s.State.Phase), texts[0], texts[1], unixOf(s.Open.Since), unixOf(s.State.Said), numberOf(level), texts[2], app)
		if u := s.Identity; u.UID != "" {
			err := w.exec(ctx, "object_uid_write", id, u.UID, u.Other, unixOf(u.Changed), u.IsContested)
			if err != nil {
				return err
			}
		}
		if of.evident[s.Object.Name] {
			outdated.add(id)
			delete(of.evident, s.Object.Name)
		}
		if s.IsPlain() {
			continue
		}
		of.evident[s.Object.Name] = true
		for i, r := range s.Reports {
			texts, err := w.textIDs(ctx, r.Target, r.Runs, ledger.JoinDetail(r.Phase, r.Message, r.Plan))
			if err != nil {
				return err
			}
			evidence.add(id, int64(i), int64(r.Phase), texts[0], texts[1], unixOf(r.Said), numberOf(r.Level), texts[2])
		}
	}
	err := w.execAll(ctx, "state_write", states)
	if err == nil {
		err = w.execAll(ctx, "evidence_delete", outdated)
	}
	if err == nil {
		err = w.execAll(ctx, "evidence_write", evidence)
	}
	return err
}

func (w *batchWriter) writeGone(ctx context.Context, all []ledger.Object, since time.Time) error {
	var gone, ids rows
	for _, o := range all {
		id, of, err := w.objectID(ctx, o)
		if err != nil {
			return err
		}
		of.gone[o.Name] = true
		delete(of.evident, o.Name)
		gone.add(id, unixOf(since))
		ids.add(id)
	}
	err := w.execAll(ctx, "object_gone", gone)
	for _, statement := range []string{"state_delete", "object_uid_delete", "evidence_delete"} {
		if err == nil {
			err = w.execAll(ctx, statement, ids)
		}
	}
	return err
}

func (w *batchWriter) textIDs(ctx context.Context, first, second, message string) (ids [3]int64, err error) {
	ids[0], err = w.revisionID(ctx, first)
	if err == nil {
		ids[1], err = w.revisionID(ctx, second)
	}
	if err == nil {
		ids[2], err = w.messageID(ctx, message)
	}
	return ids, err
}

func (w *batchWriter) writeSpans(ctx context.Context, all []ledger.SpanWrite) error {
	begun, ended, deleted := newRows(9, len(all)/2), newRows(3, len(all)/2), rows{}
	for i := range all {
		x := &all[i]
		id, _, err := w.objectID(ctx, x.Object)
		if err != nil {
			return err
		}
		since, until := unixOf(x.Span.Since), unixOf(x.Span.Until)
		switch x.Kind {
		case ledger.EndSpan:
			ended.add(id, since, until)
		case ledger.DeleteSpan:
			deleted.add(id, since)
		case ledger.BeginSpan:
			texts, err := w.textIDs(ctx, x.Span.Revision, x.Span.Attempted, ledger.JoinDetail(x.Span.Phase, x.Span.Message, x.Span.Plan))
			if err != nil {
				return err
			}
			app, err := w.revisionID(ctx, x.Span.App)
			if err != nil {
				return err
			}
			begun.add(id, since, until, int64(x.Span.Phase), texts[0], texts[1], texts[2], numberOf(x.Span.Late), app)
		}
	}
	err := w.execAll(ctx, "span_delete", deleted)
	if err == nil {
		err = w.execAll(ctx, "span_end", ended)
	}
	if err == nil {
		err = w.execAll(ctx, "span_begin", begun)
	}
	return err
}

func numberOf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// unixOf returns Unix seconds; 0 for the zero time.
func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func unixOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

func timeOf(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

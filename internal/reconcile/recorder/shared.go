package recorder

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

type contact struct {
	ledger.Contact
	reports []ledger.Report
	number  int // in the order of arrival
}

// held has the contacts that a shared store may lack, by cluster ID. They are received again after
// another process has changed the cluster.
type held struct {
	contacts map[string][]contact
	last     int
	// overflown has the clusters with dropped contacts.
	overflown map[string]bool
}

const minHeld = 64

func (h *held) add(id string, objects int, c ledger.Contact, reports []ledger.Report) {
	if h.contacts == nil {
		h.contacts, h.overflown = map[string][]contact{}, map[string]bool{}
	}
	h.last++
	all := append(h.contacts[id], contact{c, reports, h.last})
	size := 0
	for i, c := range slices.Backward(all) {
		size += 1 + len(c.reports)
		if size > minHeld+4*objects && i < len(all)-1 {
			all = slices.Clone(all[i+1:])
			h.overflown[id] = true
			break
		}
	}
	h.contacts[id] = all
}

func (h *held) drop(id string, last int) {
	left := slices.DeleteFunc(h.contacts[id], func(c contact) bool { return c.number <= last })
	if len(left) == 0 {
		delete(h.contacts, id)
	} else {
		h.contacts[id] = left
	}
	delete(h.overflown, id)
}

func (h *held) take(ids []string) []contact {
	var all []contact
	for _, id := range ids {
		all = append(all, h.contacts[id]...)
		delete(h.contacts, id)
		delete(h.overflown, id)
	}
	slices.SortStableFunc(all, func(a, b contact) int { return a.Received.Compare(b.Received) })
	return all
}

// ReadShared returns a Recorder with the content of a PostgreSQL database. After an error the
// Recorder is empty, and FindLoss reports it.
func ReadShared(ctx context.Context, postgres func() (string, error), now func() time.Time) (*Recorder, error) {
	r := newRecorder(Options{Postgres: postgres, Now: now, Logger: slog.New(slog.DiscardHandler)})
	return r, r.readOnly(ctx, func() (*ledgerdb.Store, error) {
		address, err := postgres()
		if err != nil {
			return nil, err
		}
		return ledgerdb.ReadPostgres(ctx, address)
	})
}

// share synchronizes with a shared store and reports whether it read anything. After an error the
// stored state is unknown, so it closes the store to read it again.
func (r *Recorder) share(ctx context.Context) (changed bool, err error) {
	changed, err = r.exchange(ctx)
	if err != nil && r.store != nil {
		r.restored = r.restored || errors.Is(err, ledgerdb.ErrRestored)
		err = errors.Join(err, r.store.Close())
		r.store = nil
	}
	return changed, err
}

func (r *Recorder) exchange(ctx context.Context) (changed bool, err error) {
	if r.store == nil {
		err := r.openShared(ctx)
		if err != nil {
			return false, err
		}
		changed = true
	}
	if !r.hasChanges() {
		news, err := r.store.HasNews(ctx)
		if err != nil || !news {
			return changed, err
		}
	}
	var written ledgerdb.Batch
	last := 0
	started := r.options.Now()
	err = r.store.Update(ctx, func(n ledgerdb.News) ledgerdb.Batch {
		changed = r.acceptNews(n) || changed
		last = r.findLastHeld()
		_, written = r.takeBatch()
		return written
	})
	if err != nil {
		return changed, err
	}
	r.options.Metrics.RecordFlush(r.options.Now().Sub(started))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropRefusals(written.Refusals)
	for _, c := range written.Clusters {
		if !r.pending.hasLate(c.ID) {
			r.held.drop(c.ID, last)
		}
	}
	return changed, nil
}

func (r *Recorder) findLastHeld() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held.last
}

func (r *Recorder) hasChanges() bool {
	seen := r.isSeenDue()
	r.mu.Lock()
	defer r.mu.Unlock()
	return seen || len(r.pending.clusters) > 0 || len(r.pending.objects) > 0 || r.pending.spans.Len() > 0 || len(r.refusals) > 0
}

func (r *Recorder) openShared(ctx context.Context) error {
	address, err := r.options.Postgres()
	if err != nil {
		return err
	}
	store, err := ledgerdb.OpenPostgres(ctx, address)
	if err != nil {
		return err
	}
	stored := ledger.New(maxObjects)
	err = store.Load(ctx, stored)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	r.adopt(store, stored)
	return nil
}

// adopt replaces the ledger by the stored one, and receives held contacts again. If the store lost
// data, it gets back what this process knows.
func (r *Recorder) adopt(store *ledgerdb.Store, stored *ledger.Ledger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	loss := r.mark.describeLoss(stored)
	if loss == "" && r.restored {
		loss = "the database of the ledger has lost what was written last"
	}
	var kept []string
	if loss != "" {
		r.options.Logger.Error("what clusters reported may be lost", "error", loss)
		r.addLoss("", loss)
		r.mark = mark{Loss: new(r.losses[""]), Resumed: r.mark.Resumed}
		r.unmarked = true
		kept = keepNewer(r.ledger, stored)
	}
	ids := slices.Sorted(maps.Keys(r.held.contacts))
	summaries := r.summarize(ids)
	again := append(r.held.take(ids), summaries...)
	r.store, r.restored, r.unread = store, false, nil
	r.ledger, r.pending = stored, newChanges()
	r.ledger.SetRetirement(ledger.Retirement{After: r.options.Retire, Times: r.retired, Resumed: r.mark.Resumed})
	r.ledger.SetAdopted(r.adopted)
	r.ledger.SetMembership(r.membership)
	clear(r.seen)
	for _, id := range kept {
		r.writeAgain(id)
	}
	r.receiveAgain(again)
}

// keepNewer copies clusters that into lacks or has in an older state, and returns their IDs.
func keepNewer(from, into *ledger.Ledger) (kept []string) {
	for _, c := range from.Clusters() {
		there := into.FindCluster(c.ID)
		if there != nil && !c.LastSeen.After(there.LastSeen) {
			continue
		}
		into.ReplaceCluster(*c.Clone())
		for _, o := range from.SaveCluster(c.ID) {
			into.RestoreObject(o)
		}
		kept = append(kept, c.ID)
	}
	return kept
}

// writeAgain requires r.mu.
func (r *Recorder) writeAgain(id string) {
	r.pending.clusters[id] = true
	for _, o := range r.ledger.SaveCluster(id) {
		r.pending.objects[o.Object] = true
		if !o.Open.Since.IsZero() {
			r.pending.spans.Add(ledger.SpanWrite{Object: o.Object, Kind: ledger.BeginSpan, Span: o.Open})
		}
	}
}

// acceptNews applies clusters changed by other processes and held contacts, and reports whether any
// state changed.
func (r *Recorder) acceptNews(n ledgerdb.News) (changed bool) {
	if len(n.Clusters) == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := map[string][]ledger.Saved{}
	replaced := map[string]bool{} // known clusters
	for _, c := range n.Clusters {
		before[c.ID] = r.ledger.SaveCluster(c.ID)
		for _, id := range r.ledger.FindReplaced(c) {
			replaced[id] = true
		}
	}
	ids := slices.Sorted(maps.Keys(replaced))
	summaries := r.summarize(ids)
	again := append(r.held.take(ids), summaries...)
	for _, c := range n.Clusters {
		r.ledger.ReplaceCluster(c)
	}
	for _, o := range n.Objects {
		r.ledger.RestoreObject(o)
	}
	isReplaced := func(id string) bool { return replaced[id] }
	maps.DeleteFunc(r.pending.clusters, func(id string, _ bool) bool { return isReplaced(id) })
	maps.DeleteFunc(r.pending.objects, func(o ledger.Object, _ bool) bool { return isReplaced(o.Cluster) })
	r.pending.spans.RemoveClusters(isReplaced)
	maps.DeleteFunc(r.pending.late, func(o ledger.Object, _ []ledger.Span) bool { return isReplaced(o.Cluster) })
	maps.DeleteFunc(r.seen, func(id string, _ bool) bool { return isReplaced(id) })
	r.receiveAgain(again)
	for _, c := range n.Clusters {
		changed = changed || !slices.EqualFunc(before[c.ID], r.ledger.SaveCluster(c.ID), ledger.Saved.IsSame)
	}
	return changed
}

// summarize returns a contact with all known reports of each cluster with dropped contacts. It
// requires r.mu.
func (r *Recorder) summarize(ids []string) []contact {
	var all []contact
	for _, id := range ids {
		c := r.ledger.FindCluster(id)
		if c == nil || !r.held.overflown[id] {
			continue
		}
		var reports []ledger.Report
		for _, o := range r.ledger.SaveCluster(id) {
			reports = append(reports, o.Reports...)
		}
		summary := ledger.Contact{Name: c.Name(), UID: c.UID, Group: c.Group, Platform: c.Platform, Others: c.Others, Unproven: c.Unproven, Every: c.Every, Received: c.LastSeen}
		all = append(all, contact{Contact: summary, reports: reports})
	}
	return all
}

// receiveAgain receives contacts again. An agent's older report counts like an event. It requires
// r.mu.
func (r *Recorder) receiveAgain(all []contact) {
	for _, c := range all {
		receipt, _ := r.receive(c.Contact, c.reports)
		if receipt.Admission == ledger.Replayed && len(c.reports) > 0 {
			event := c.Contact
			event.Boot, event.Scope, event.Gone, event.Unread = "", ledger.Some, nil, nil
			_, _ = r.receive(event, c.reports)
		}
	}
}

package recorder

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

const (
	retentionInterval = time.Hour
	// fullInterval is the minimum pause between clean-ups of a full store.
	fullInterval = 10 * time.Minute
	sizeInterval = time.Minute
)

type upkeep struct {
	cleaned, madeRoom, measured time.Time
	logged                      string // last failure
}

func (r *Recorder) maintain(ctx context.Context) {
	now, failure := r.options.Now(), r.Check()
	r.options.Metrics.SetPendingChanges(r.countPending())
	switch full := errors.Is(failure, ledgerdb.ErrFull); {
	case full && now.Sub(r.upkeep.madeRoom) >= fullInterval:
		r.upkeep.madeRoom = now
		keep := r.options.Keep
		keep.Spans /= 2
		r.logUpkeep(r.cleanUp(ctx, keep))
		r.retryNow()
	case failure == nil && now.Sub(r.upkeep.cleaned) >= retentionInterval:
		r.upkeep.cleaned = now
		err := r.cleanUp(ctx, r.options.Keep)
		if err == nil {
			err = r.shrink(ctx)
		}
		r.logUpkeep(err)
	}
	if failure == nil && now.Sub(r.upkeep.measured) >= sizeInterval {
		r.upkeep.measured = now
		r.logUpkeep(r.measure(ctx))
	}
}

func (r *Recorder) logUpkeep(err error) {
	if err != nil && err.Error() != r.upkeep.logged {
		r.options.Logger.Warn("the ledger could not be cleaned up: it grows until it can", "error", err)
		r.upkeep.logged = err.Error()
	}
}

func (r *Recorder) cleanUp(ctx context.Context, keep ledgerdb.Keep) (err error) {
	if keep.Spans <= 0 {
		return nil
	}
	store, inUse, err := r.findStore(ctx)
	if err != nil || store == nil {
		return err
	}
	if !inUse {
		defer func() { err = errors.Join(err, store.Close()) }()
	}
	retention := store.NewRetention(keep, r.options.Now(), 0)
	for more := true; more && err == nil && ctx.Err() == nil; {
		more, err = r.cleanStep(ctx, store, inUse, retention)
	}
	return err
}

// findStore returns the store, and whether it is in use. A shared one was closed by the last
// failure and is opened only for this.
func (r *Recorder) findStore(ctx context.Context) (store *ledgerdb.Store, inUse bool, err error) {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if r.store != nil || r.options.Postgres == nil {
		return r.store, true, nil
	}
	address, err := r.options.Postgres()
	if err != nil {
		return nil, false, err
	}
	store, err = ledgerdb.OpenPostgres(ctx, address)
	return store, false, err
}

func (r *Recorder) cleanStep(ctx context.Context, store *ledgerdb.Store, inUse bool, retention *ledgerdb.Retention) (more bool, err error) {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if inUse && r.store != store {
		return false, nil
	}
	return retention.Step(ctx)
}

func (r *Recorder) shrink(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if r.store == nil {
		return nil
	}
	return r.store.Shrink(ctx)
}

func (r *Recorder) measure(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if r.store == nil {
		return nil
	}
	size, err := r.store.Size(ctx)
	if err == nil {
		r.options.Metrics.SetStoreSize(size)
	}
	return err
}

func (r *Recorder) retryNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = time.Time{}
}

func (r *Recorder) countPending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.pending.spans.Len() + len(r.pending.clusters)
	if r.options.Postgres != nil && r.failure != nil { // they will be received again
		for _, contacts := range r.held.contacts {
			n += len(contacts)
		}
	}
	return n
}

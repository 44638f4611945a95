package recorder

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// WritePlan stores a plan that a cluster sent.
func WritePlan(ctx context.Context, r *Recorder, p ledgerdb.SentPlan) error {
	return r.useStore(func(s *ledgerdb.Store) error { return ledgerdb.WritePlan(ctx, s, p) })
}

// ReadPlans returns the stored plans that were received since a time, oldest first; none while the store is not open.
func ReadPlans(ctx context.Context, r *Recorder, since time.Time) (all []ledgerdb.SentPlan, err error) {
	err = r.useStore(func(s *ledgerdb.Store) (err error) {
		all, err = ledgerdb.ListPlans(ctx, s, since)
		return err
	})
	if errors.Is(err, errAway) {
		err = nil
	}
	return all, err
}

package loop

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// ErrNotRead means that no cycle has read the control plane yet.
var ErrNotRead = errors.New("the control plane was not read yet")

// Simulate returns when a commit of the base would reach each environment under today's gates, from
// what the last cycle has found. It writes nothing. Any goroutine may call it: it waits, until ctx ends,
// for the cycle that runs.
func (l *Loop) Simulate(ctx context.Context, revision string) (arrivals []promote.Arrival, err error) {
	err = l.askPromoter(ctx, func() error {
		arrivals, err = l.promoter.SimulateArrivals(ctx, l.orders, l.promotionFacts(), revision)
		return err
	})
	return arrivals, err
}

// askPromoter calls ask in a turn of its own, once a cycle has read the control plane, at the present time.
func (l *Loop) askPromoter(ctx context.Context, ask func() error) error {
	return l.inTurn(ctx, func() error {
		if l.source == nil {
			return ErrNotRead
		}
		l.promoter.StartRound(l.options.Now())
		return ask()
	})
}

// takeTurn waits until neither a cycle nor a simulation runs, and keeps others from beginning until the
// returned function is called.
func (l *Loop) takeTurn(ctx context.Context) (end func(), err error) {
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *Loop) inTurn(ctx context.Context, do func() error) error {
	endTurn, err := l.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer endTurn()
	return do()
}

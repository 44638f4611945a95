package lever

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/server/session"
)

func (o *Operator) takeTurn(ctx context.Context) (end func(), err error) {
	select {
	case o.turn <- struct{}{}:
		return func() { <-o.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Limits per person and minute; each action or preview fetches and renders.
const (
	maxActions  = 10
	maxPreviews = 60
)

func (o *Operator) admit(who *session.Person, did string, most int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.options.Actions.Now()
	for key, times := range o.recent {
		times = slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
		if len(times) == 0 {
			delete(o.recent, key)
		} else {
			o.recent[key] = times
		}
	}
	key := did + " " + who.Actor()
	if len(o.recent[key]) >= most {
		return &problem.Refusal{Reason: fmt.Sprintf("you have %s %d actions within a minute, which is the most", did, most), Advice: "try again in a minute", Kind: ErrTooMany}
	}
	o.recent[key] = append(o.recent[key], now)
	return nil
}

func (o *Operator) record(ctx context.Context, who *session.Person, q Request, r actions.Result, err error) {
	outcome := "done"
	switch {
	case errors.Is(err, ErrNotAllowed):
		outcome = "not-allowed"
	case errors.Is(err, ErrTooMany):
		outcome = "too-many"
	case errors.Is(err, ErrMoved):
		outcome = "moved"
	case errors.Is(err, ErrUnknown), errors.Is(err, ErrMalformed):
		outcome = "malformed"
	case err != nil && errors.As(err, new(*problem.Refusal)):
		outcome = "refused"
	case err != nil:
		outcome = "failed"
	case !r.Changed:
		outcome = "unchanged"
	}
	o.options.Metrics.RecordLever(q.Lever, outcome)
	actor := "nobody"
	if who != nil {
		actor = who.Actor()
	}
	o.options.Logger.InfoContext(ctx, "lever", slog.String("lever", q.Lever), slog.String("environment", q.Environment), slog.String("actor", actor),
		slog.String("outcome", outcome), slog.Bool("force", q.Force), slog.String("commit", r.Commit), slog.String("address", q.Address), slog.Any("error", err))
}

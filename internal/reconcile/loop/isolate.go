package loop

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// reportPanic logs a panic with its stack. What people see elsewhere is its id.
func (l *Loop) reportPanic(work, of string, e *panics.Error) {
	l.options.Logger.Error("panic", "id", e.ID, "work", work, "of", of, "kind", e.Kind, "stack", e.Stack)
}

// isolateRound does one round. A panic in what all environments share fails the round; the
// control plane is read anew in the next one, for what is known of it may be half written.
func (l *Loop) isolateRound(ctx context.Context, asked repos.Scope) error {
	err := l.barrier.Run("cycle", "", func() error { return l.runRound(ctx, asked) })
	if panics.Is(err) {
		l.source, l.undone = nil, true
		return l.reportControlPlane(err)
	}
	return err
}

// finishEnvironment notes that the work on an environment has ended well.
func (l *Loop) finishEnvironment(e *environment) {
	l.options.Store.Finish(e.name)
	l.options.Metrics.SetUnfinishedSince(e.name, time.Time{})
}

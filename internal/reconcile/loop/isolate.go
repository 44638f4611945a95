package loop

import (
	"context"
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// reportPanic logs a panic with its stack. What people see elsewhere is its id.
func (l *Loop) reportPanic(work, of string, e *panics.Error) {
	l.Logger.Error("panic", "id", e.ID, "work", work, "of", of, "kind", e.Kind, "stack", e.Stack)
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

// previewIsolated previews one environment. A panic is a problem that the change has, so
// that its author learns of it, and the preview of other environments is there.
func (l *Loop) previewIsolated(ctx context.Context, src *source.Source, name string, before, after source.Revisions) (p environmentPreview, err error) {
	err = l.barrier.Run("preview", name, func() (err error) {
		p, err = l.previewEnvironment(ctx, src, name, before, after)
		return err
	})
	var e *panics.Error
	if !errors.As(err, &e) {
		return p, err
	}
	var list problem.List
	list.Addf(problem.Pos{}, "Environment/"+name, "report it with the stack in the log of the daemon", "it cannot be rendered: %v", e)
	return environmentPreview{environment: name, problems: list, listed: list, stops: true}, nil
}

// finishEnvironment notes that the work on an environment has ended well.
func (l *Loop) finishEnvironment(e *environment) {
	l.Store.FinishEnvironment(e.name)
	l.Metrics.SetUnfinishedSince(e.name, time.Time{})
}

package loop

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

// reportPanic logs a panic with its stack. What people see elsewhere is its id.
func (l *Loop) reportPanic(work, of string, e *panics.Error) {
	l.options.Logger.Error("panic", "id", e.ID, "work", work, "of", of, "kind", e.Kind, "stack", e.Stack)
}

// finishEnvironment notes that the work on an environment has ended well.
func (l *Loop) finishEnvironment(e *environment) {
	l.options.Store.FinishEnvironment(e.name)
	l.options.Metrics.SetUnfinishedSince(e.name, time.Time{})
}

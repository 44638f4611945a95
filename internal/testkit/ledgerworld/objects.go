package ledgerworld

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// ReportObject has a cluster of large type say something of an object.
func (w *World) ReportObject(environment, cluster, object string, phase ledger.Phase, target, message string) {
	w.t.Helper()
	w.ReportObjectAt(Now, environment, cluster, object, phase, target, message)
}

// ReportObjectAt has a cluster of large type say something of an object at a time.
func (w *World) ReportObjectAt(at time.Time, environment, cluster, object string, phase ledger.Phase, target, message string) {
	w.t.Helper()
	w.say(at, environment, "large", cluster, nil, report{object, phase, target, message})
	w.check(w.Recorder.Flush(w.t.Context()))
}

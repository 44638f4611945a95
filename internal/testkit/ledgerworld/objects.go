package ledgerworld

import "github.com/fairlead-io/fairlead/internal/ledger"

// ReportObject has a cluster of large type say something of an object.
func (w *World) ReportObject(environment, cluster, object string, phase ledger.Phase, target, message string) {
	w.t.Helper()
	w.say(Now, environment, "large", cluster, nil, report{object, phase, target, message})
	w.check(w.Recorder.Flush(w.t.Context()))
}

package observe_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// openRecorder returns a Recorder of what clusters report, which has nothing yet.
func openRecorder(t *testing.T) *recorder.Recorder {
	t.Helper()
	r := recorder.Open(t.Context(), recorder.Options{Path: filepath.Join(t.TempDir(), "ledger.db"), Now: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler)})
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func add(t *testing.T, to *recorder.Recorder, e observe.Event) {
	t.Helper()
	if _, err := to.Add(e); err != nil {
		t.Fatal(err)
	}
}

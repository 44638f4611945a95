package loop_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// TestStatusWithoutWebhook: what only a poll can find is found at the interval that is set, for
// the first hour in which nothing is new.
func TestStatusWithoutWebhook(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, two("gates: [status: {contexts: [ci/test]}]"), "dev", "stage")
	commit := w.changeNow(1)
	names := map[string]string{commit: "1"}
	d := w.begin(w.data)
	d.settle("dev", "stage")
	for range 50 {
		d.pass(time.Minute)
	}
	if err := w.plain("cp").SetStatus(t.Context(), commit, forge.Status{Context: "ci/test", Outcome: forge.Success}); err != nil {
		t.Fatal(err)
	}
	d.pass(time.Minute)
	w.wantLine(names, "dev=1 stage=1")
}

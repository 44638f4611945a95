package loop_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// TestLeftOut: an environment that the settings leave out is that of another daemon. What
// that one has written of it counts, and until then what comes after it says what it
// waits for.
func TestLeftOut(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: [soak: 3h]}\n    - {name: stage, after: [dev], merge: direct, proof: []}\n", "dev", "stage")
	names := map[string]string{w.changeNow(1): "1"}
	w.more = "write: true\nenvironments: [dev]\n"
	first := w.begin(t.TempDir())
	w.more = "write: true\nenvironments: [stage]\n"
	second := w.begin(t.TempDir())
	second.settle("dev", "stage")
	w.wantLine(names, "dev=- stage=-")
	second.wantNext("dev", promote.Held, "the settings do not list it")
	second.wantNext("stage", promote.Current, "waiting for dev to get its first commit")

	first.settle("dev")
	second.settle("stage")
	w.wantLine(names, "dev=1 stage=-")
	second.wantNext("stage", promote.Waiting, "is not verified in dev yet: the settings do not list it, so another daemon promotes to it, and no status says that it is verified")
	for range 5 {
		first.cycle()
	}
	second.settle("stage")
	w.wantLine(names, "dev=1 stage=1")
	first.wantNext("stage", promote.Held, "the settings do not list it")

	// What one has given to dev meanwhile is not proven by what was said of another commit.
	names[w.changeNow(2)] = "2"
	first.settle("dev")
	second.settle("stage")
	w.wantLine(names, "dev=2 stage=1")
	second.wantNext("stage", promote.Waiting, "no status says that it is verified")
}

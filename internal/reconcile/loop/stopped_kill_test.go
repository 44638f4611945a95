package loop_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
)

// TestStoppedStackKilled: killed at each step, the daemon ends where it does otherwise: the files of a
// stopped stack stay byte for byte, those of the others follow, and mended it goes on.
func TestStoppedStackKilled(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "parallel: 1\n" // so that the server is at rest when the process dies
	w.commitNow("dev", "two stacks", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText, "stacks/till.yaml": otherStackText})
	w.life(w.data)
	w.merge("dev")
	w.life(w.data)
	files := w.stackFiles()
	for _, phase := range []struct {
		name    string
		before  func()
		ref     string // of the other stack's module afterwards
		same    bool   // the files of the stack are as they were
		stopped string
	}{
		{"stopped, and the other one changes", func() {
			w.edit("dev", "stacks/checkout.yaml", "dependsOn: [network]", "dependsOn: [netwrok]")
			w.edit("dev", "stacks/till.yaml", "ref=v1.0", "ref=v2.0")
		}, "ref=v2.0", true, "component eks depends on netwrok"},
		{"still stopped", func() { w.edit("dev", "stacks/till.yaml", "ref=v2.0", "ref=v3.0") }, "ref=v3.0", true, "component eks depends on netwrok"},
		{"mended, with another module", func() {
			w.edit("dev", "stacks/checkout.yaml", "netwrok", "network")
			w.edit("dev", "stacks/checkout.yaml", "ref=v1.0", "ref=v4.0")
		}, "ref=v3.0", false, ""},
	} {
		phase.before()
		w.now = w.now.Add(time.Hour)
		before := w.save()
		w.life(w.data)
		want := w.outcome()
		if steps := w.killAtEveryStep(before, w.beginAgain(want)); len(steps) < 3 {
			t.Errorf("%s: it was killed at %q only", phase.name, steps)
		}
		w.wantOutcome(phase.name+": never killed", want)
		w.merge("dev")
		w.life(w.data)
		w.wantVerified("dev")
		if now := w.stackFiles(); len(now) == 0 || maps.Equal(files, now) != phase.same {
			t.Errorf("%s: the files of the stack are %v", phase.name, now)
		}
		if module := w.below("dev", "team/till-team-environment")["dev-environment-component/queue/terraform/module.tf"]; !strings.Contains(module, phase.ref) {
			t.Errorf("%s: the other stack has\n%s", phase.name, module)
		}
		d := w.begin(t.TempDir(), func(*loop.Options) {}) // it remembers nothing
		d.cycle()
		if phase.stopped != "" {
			d.wantStopped("dev", phase.stopped)
		} else if n, _ := d.state("dev").Problems.Count(); n != 0 {
			t.Errorf("%s: the problems are %v", phase.name, d.state("dev").Problems)
		}
		d.Close()
	}
}

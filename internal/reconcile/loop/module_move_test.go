package loop_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
)

// TestModuleMove: the next commit of a module without a version is a pull request, and the record of the
// output names it. One that no longer fits its components, or that cannot be read for some time, stops the
// stack, and the output stays.
func TestModuleMove(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.server.Create("module")
	module := w.server.Work(t, "module")
	module.Switch("main")
	push := func(text string) string {
		module.Write("main.tf", text)
		commit := module.Commit("module")
		module.Push("main")
		return commit
	}
	const file = "network/terraform/module.tf"
	wantPin := func(commit string) {
		t.Helper()
		if got := w.below("dev", "team/checkout-team-environment/dev-environment-component")[file]; !strings.Contains(got, "?ref="+commit) {
			t.Errorf("the module is not pinned to %s:\n%s", commit, got)
		}
		if record := w.below("dev", ".fairlead")["output.yaml"]; !strings.Contains(record, commit) {
			t.Errorf("the record does not name %s:\n%s", commit, record)
		}
	}
	first := push("variable \"a\" { default = 1 }\n")
	d := w.begin(w.data, func(*loop.Options) {})
	w.commitNow("dev", "a stack", map[string]string{
		"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": strings.ReplaceAll(stackFileText, "https://github.com/x/y?ref=v1.0", w.server.URL("module")),
	})
	d.cycle()
	w.merge("dev")
	d.cycle()
	wantPin(first)

	second := push("variable \"a\" { default = 2 }\n")
	d.cycle()
	w.merge("dev")
	d.cycle()
	wantPin(second)
	w.wantVerified("dev")

	push("variable \"b\" {}\n") // which nothing sets
	d.cycle()
	found := fmt.Sprint(d.state("dev").Problems)
	for _, component := range []string{"network", "eks"} {
		if !strings.Contains(found, "component "+component+": its module needs the variable b, which has no default") {
			t.Errorf("nothing is said of %s: %s", component, found)
		}
	}
	wantPin(second)

	third := push("variable \"a\" { default = 3 }\n")
	d.cycle()
	w.merge("dev")
	d.cycle()
	wantPin(third)
	away := w.server.Dir("module") + ".away"
	if err := os.Rename(w.server.Dir("module"), away); err != nil {
		t.Fatal(err)
	}
	again := w.begin(t.TempDir(), func(*loop.Options) {}) // with nothing in memory
	again.cycle()
	found = fmt.Sprint(again.state("dev").Problems)
	if e := again.state("dev"); e.Pull != nil || !strings.Contains(found, "component network: its module is pinned to a commit, and cannot be read now") {
		t.Errorf("while the module cannot be read: %+v, %s", e.Pull, found)
	}
	if err := os.Rename(away, w.server.Dir("module")); err != nil {
		t.Fatal(err)
	}
	wantPin(third)
}

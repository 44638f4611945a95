package loop_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
)

// ownState returns the file of a stack whose root module names its state.
func ownState(stack string) string {
	team, env, _ := strings.Cut(stack, "/")
	return fmt.Sprintf(`apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: own}
spec:
  teamName: %s
  envName: %s
  components:
    - name: net
      type: terraform
      module: {source: "https://github.com/x/y?ref=v1.0"}
      overlayData:
        - {name: terraform.tf, data: "terraform {\n  backend \"s3\" {\n    bucket = \"one\"\n    key = \"k\"\n    region = \"r\"\n  }\n}\n"}
`, team, env)
}

// TestClaimedStack: of two environments with one stack, the one whose output has it goes on, whichever comes
// first, and over restarts; in the other one that stack is stopped, and no other. One that is moved waits
// until it is gone from the output where it was. So it is of two stacks that name one state.
func TestClaimedStack(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "stage")
	d := w.begin(w.data, func(*loop.Options) {})
	w.commitNow("stage", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText, "stacks/own.yaml": ownState("shop/one")})
	d.cycle()
	w.merge("stage")
	d.cycle()
	before := w.below("stage", "environments/checkout/dev")
	w.commitNow("dev", "a copy, and another one", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText, "stacks/till.yaml": otherStackText, "stacks/own.yaml": ownState("shop/two")})
	const problem, shared = "environment stage has the stack checkout/dev too, at stage/stacks/checkout.yaml:1: they would share their state",
		"stacks/own.yaml:8: Environment/own: component net: its state is that of the component net of the stack shop/one in environment stage, at stage/stacks/own.yaml:8: each would destroy"
	for range 2 {
		d.cycle()
		d.wantStopped("dev", problem)
		if all := fmt.Sprint(d.state("dev").Problems); !strings.Contains(all, shared) {
			t.Errorf("dev has the problems %s", all)
		}
		if all := d.state("stage").Problems; all.Stops() {
			t.Errorf("stage has the problems %v", all)
		}
		d = w.begin(t.TempDir(), func(*loop.Options) {}) // it remembers nothing
	}
	w.merge("dev")
	d.cycle()
	if files := w.below("dev", "environments"); files["till/dev/namespace.yaml"] == "" || files["checkout/dev/namespace.yaml"]+files["shop/two/namespace.yaml"] != "" {
		t.Errorf("the output of dev has %v", files)
	}
	w.wantVerified("dev")

	w.commitNow("dev", "without the shared state", map[string]string{"stacks/own.yaml": ""})
	w.commitNow("stage", "it moves to dev", map[string]string{"stacks/checkout.yaml": ""})
	d.cycle()
	d.wantStopped("dev", "the output of environment stage still has the stack checkout/dev: they would share their state")
	w.merge("stage")
	d.cycle()
	if now := w.below("stage", "environments/checkout/dev"); !strings.Contains(now["eks/objects/terraform.yaml"], "destroy: true") || maps.Equal(before, now) {
		t.Errorf("stage does not tear it down: %v", now)
	}
	d.wantStopped("dev", "the output of environment stage still has the stack checkout/dev")
	w.edit("stage", "stacks/settings.yaml", "spec:", "spec:\n  abandoned: [checkout/dev]")
	d.cycle()
	w.merge("stage")
	d.cycle()
	if n, _ := d.state("dev").Problems.Count(); n != 0 {
		t.Errorf("moved, it has the problems %v", d.state("dev").Problems)
	}
	w.merge("dev")
	d.cycle()
	w.wantStack("destroy: false")
	if all := fmt.Sprint(d.state("stage").Problems, d.state("dev").Problems); strings.Contains(all, "share") {
		t.Errorf("moved, there are the problems %s", all)
	}
}

// TestSharedState: of two stacks of one environment with one state, the one that the output has goes on, with its
// changes, also over a restart; the other one is stopped.
func TestSharedState(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data, func(*loop.Options) {})
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/own.yaml": ownState("shop/two")})
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.commitNow("dev", "another one, with its state", map[string]string{
		"stacks/own.yaml": strings.ReplaceAll(ownState("shop/two"), "ref=v1.0", "ref=v1.1"), "stacks/first.yaml": strings.ReplaceAll(ownState("shop/one"), "name: own", "name: first"),
	})
	for range 2 {
		d.cycle()
		d.wantStopped("dev", "component net: its state is that of the component net of the stack shop/two: each would destroy")
		if n, _ := d.state("dev").Problems.Count(); n != 1 {
			t.Errorf("dev has the problems %v", d.state("dev").Problems)
		}
		d = w.begin(t.TempDir(), func(*loop.Options) {}) // it remembers nothing
	}
	w.merge("dev")
	d.cycle()
	if module := w.below("dev", "team/shop-team-environment/two-environment-component/net/terraform")["module.tf"]; !strings.Contains(module, "ref=v1.1") {
		t.Errorf("its module is:\n%s", module)
	}
	if files := w.below("dev", "environments/shop/one"); len(files) > 0 {
		t.Errorf("the other one is in the output: %v", files)
	}
	w.wantVerified("dev")
}

package loop_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

const otherStackText = `apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-till-dev, namespace: zmart-config}
spec:
  teamName: till
  envName: dev
  components:
    - {name: queue, type: terraform, module: {source: "https://github.com/x/y?ref=v1.0"}}
`

// stackFiles returns the files of the stack checkout/dev in the output: objects and root modules.
func (w *world) stackFiles() map[string]string {
	w.Helper()
	all := w.below("dev", "environments/checkout/dev")
	for file, text := range w.below("dev", "team/checkout-team-environment/dev-environment-component") {
		all["team/"+file] = text
	}
	return all
}

// wantStopped checks that a problem stops a stack of an environment, and not the environment.
func (d *daemon) wantStopped(env, part string) {
	d.Helper()
	e := d.state(env)
	first, stops := e.Problems.FirstStopping()
	if !stops || e.Problems.StopsEnvironment() || !strings.Contains(first.Summary, part) || e.State == status.Problems {
		d.Errorf("%s is %s with the problems %v, want %q", env, e.State, e.Problems, part)
	}
}

// wantStacks checks which stacks of an environment people see, and what of each.
func (d *daemon) wantStacks(env string, want ...string) {
	d.Helper()
	var got []string
	for _, k := range d.store.Snapshot().Stacks[env] {
		shown := fmt.Sprintf("%s in %s with %s", k.Summary.Stack, k.Written.File, text.Count(len(k.Components), "component"))
		if k.Merged {
			shown += ", merged"
		}
		if k.Stopped != "" {
			shown += ", stopped"
		}
		got = append(got, shown)
	}
	if !slices.Equal(got, want) {
		d.Errorf("the stacks of %s are %q, want %q", env, got, want)
	}
}

// TestStoppedStack: a problem of one stack stops that one, whose files stay as they are, and no other;
// mended, it goes on, and when its file is deleted it is torn down as any other.
func TestStoppedStack(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data, func(*loop.Options) {})
	w.commitNow("dev", "two stacks", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText, "stacks/till.yaml": otherStackText})
	d.cycle()
	d.wantStacks("dev", "checkout/dev in stacks/checkout.yaml with 2 components", "till/dev in stacks/till.yaml with 1 component")
	w.merge("dev")
	d.cycle()
	d.wantStacks("dev", "checkout/dev in stacks/checkout.yaml with 2 components, merged", "till/dev in stacks/till.yaml with 1 component, merged")
	before := w.stackFiles()

	w.edit("dev", "stacks/checkout.yaml", "dependsOn: [network]", "dependsOn: [netwrok]")
	d.cycle()
	if all := w.openOf("dev"); len(all) != 0 {
		t.Fatalf("nothing but a stopped stack, and a pull request: %v", all)
	}
	const problem = "component eks depends on netwrok, which is no component of this stack"
	d.wantStopped("dev", problem)
	d.wantStacks("dev", "checkout/dev in stacks/checkout.yaml with 2 components, merged, stopped", "till/dev in stacks/till.yaml with 1 component, merged")
	if reason := d.state("dev").Reason; !strings.Contains(reason, "the stack checkout/dev is stopped by a problem, and stays as it is") {
		t.Errorf("the reason is %q", reason)
	}

	d = w.begin(t.TempDir(), func(*loop.Options) {}) // it remembers nothing
	w.edit("dev", "stacks/till.yaml", "ref=v1.0", "ref=v2.0")
	d.cycle()
	open := w.openOf("dev")
	if len(open) != 1 || !strings.Contains(open[0].Body, "**Stopped, and not part of this change:** 1 stack") || !strings.Contains(open[0].Body, problem) {
		t.Fatalf("the change of the other stack is %v", open)
	}
	if body, _, _ := strings.Cut(open[0].Body, "### Changes"); strings.Contains(body, "destroy") || strings.Contains(body, "REMOVE") {
		t.Errorf("the stopped stack counts as deleted:\n%s", body)
	}
	w.merge("dev")
	d.cycle()
	if !maps.Equal(before, w.stackFiles()) || len(before) == 0 {
		t.Errorf("the files of the stopped stack are others: %v", w.stackFiles())
	}
	if module := w.below("dev", "team/till-team-environment")["dev-environment-component/queue/terraform/module.tf"]; !strings.Contains(module, "ref=v2.0") {
		t.Errorf("the other stack has not changed:\n%s", module)
	}
	w.wantVerified("dev")

	w.edit("dev", "stacks/checkout.yaml", "netwrok", "network")
	w.edit("dev", "stacks/checkout.yaml", "name: network, type: terraform, module: {source: \"https://github.com/x/y?ref=v1.0\"}", "name: network, type: terraform, module: {source: \"https://github.com/x/y?ref=v3.0\"}")
	d.cycle()
	w.merge("dev")
	d.cycle()
	if n, _ := d.state("dev").Problems.Count(); n != 0 || maps.Equal(before, w.stackFiles()) {
		t.Errorf("mended, it has not changed, with the problems %v", d.state("dev").Problems)
	}

	w.edit("dev", "stacks/checkout.yaml", "dependsOn: [network]", "dependsOn: [netwrok]")
	d.cycle()
	w.commitNow("dev", "it is not needed any more", map[string]string{"stacks/checkout.yaml": ""})
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.wantStack("destroy: true")
	d.wantStacks("dev", "checkout/dev in  with 2 components, merged", "till/dev in stacks/till.yaml with 1 component, merged")
}

// TestStoppedStackRenamed: while a stack is stopped that the output does not have, no stack without a
// file is torn down: it may be this one under another name. What is new and stopped does not appear.
func TestStoppedStackRenamed(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data, func(*loop.Options) {})
	w.commitNow("dev", "two stacks", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText, "stacks/till.yaml": otherStackText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	before := w.stackFiles()
	w.edit("dev", "stacks/checkout.yaml", "teamName: checkout", "teamName: chekout")
	w.edit("dev", "stacks/checkout.yaml", "dependsOn: [network]", "dependsOn: [netwrok]")
	w.edit("dev", "stacks/till.yaml", "ref=v1.0", "ref=v2.0")
	d.cycle()
	w.merge("dev")
	d.cycle()
	if !maps.Equal(before, w.stackFiles()) {
		t.Errorf("the files of the renamed stack are others: %v", w.stackFiles())
	}
	if files := w.below("dev", "environments/chekout"); len(files) != 0 {
		t.Errorf("the stopped stack appears under its new name: %v", files)
	}
	if text := w.below("dev", "environments")["kustomization.yaml"]; strings.Contains(text, "chekout") || !strings.Contains(text, "- checkout/dev") || !strings.Contains(text, "- till/dev") {
		t.Errorf("Flux applies\n%s", text)
	}
	w.edit("dev", "stacks/checkout.yaml", "dependsOn: [netwrok]", "dependsOn: [network]")
	d.cycle()
	d.wantStopped("dev", "spec.teamName and spec.envName of a stack cannot change: it was checkout/dev")
	w.wantStack("destroy: false")
	w.edit("dev", "stacks/checkout.yaml", "teamName: chekout", "teamName: checkout")
	d.cycle()
	if n, _ := d.state("dev").Problems.Count(); n != 0 || !maps.Equal(before, w.stackFiles()) {
		t.Errorf("mended, it has the problems %v", d.state("dev").Problems)
	}
}

// TestDeletedProtectedStack: a stack whose file is deleted is not destroyed if its Team is protected in the
// same commit, and its destruction is suspended if that comes later.
func TestDeletedProtectedStack(t *testing.T) {
	const team = "apiVersion: stable.cloudknit.io/v1\nkind: Team\nmetadata: {name: checkout}\nspec: {teamName: checkout, teardownProtection: false, configRepo: {source: \"https://example.com/checkout\", path: .}}\n"
	protected := strings.Replace(team, "false", "true", 1)
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data, func(*loop.Options) {})
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText, "stacks/team.yaml": team})
	d.cycle()
	w.merge("dev")
	d.cycle()
	before := w.stackFiles()

	w.commitNow("dev", "protected, and deleted", map[string]string{"stacks/checkout.yaml": "", "stacks/team.yaml": protected})
	d.cycle()
	d.wantStopped("dev", "the file of the stack checkout/dev was deleted, and teardownProtection of its Team keeps it")
	if all := w.openOf("dev"); len(all) != 0 || !maps.Equal(before, w.stackFiles()) {
		t.Errorf("a protected stack is not left alone: %v", all)
	}
	w.commitNow("dev", "not protected", map[string]string{"stacks/team.yaml": team})
	d.cycle()
	w.merge("dev")
	w.wantStack("destroy: true")
	w.commitNow("dev", "protected again", map[string]string{"stacks/team.yaml": protected})
	d = w.begin(t.TempDir(), func(*loop.Options) {}) // it remembers nothing
	d.cycle()
	w.merge("dev")
	w.wantStack("suspend: true")
}

package loop_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const suspendedStackText = `apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-dev, namespace: zmart-config}
spec:
  teamName: checkout
  envName: dev
  selectiveReconcile: {tagName: tier, tagValues: [infra]}
  components:
    - {name: eks, type: terraform, module: {source: "https://github.com/x/y?ref=v1.0"}, tags: [{name: tier, value: infra}]}
    - {name: web, type: helm, dependsOn: [eks], source: {repo: "https://example.com/charts", chart: web}}
`

// TestSuspendedStackDeleted: the chart that selectiveReconcile has suspended is resumed when the file of its
// stack is deleted, and nothing is destroyed before clusters have reported that, over a restart.
func TestSuspendedStackDeleted(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	inbox, use := w.inbox()
	report := func(component string) {
		w.now = w.now.Add(1)
		w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: "Kustomization/zmart-checkout-dev/checkout-dev-" + component, Branch: "dev", Commit: w.head("out", "dev"), Phase: rollout.Ready, When: w.now})
	}
	release := func() string { return w.below("dev", "environments/checkout/dev")["web/objects/helmrelease.yaml"] }
	d := w.begin(w.data, use)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": suspendedStackText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	if got := release(); !strings.Contains(got, "suspend: true") || !strings.Contains(got, "kustomize.toolkit.fluxcd.io/prune: disabled") {
		t.Fatalf("it is not suspended:\n%s", got)
	}
	report("web")
	report("eks")

	w.commitNow("dev", "the stack is not needed any more", map[string]string{"stacks/checkout.yaml": ""})
	d.cycle()
	if pull := w.open("dev"); pull.Title != "dev: resume web of checkout/dev, to uninstall it: its file was deleted" || !strings.Contains(pull.Body, "**the next pull request destroys** `checkout/dev`, whose file was deleted") {
		t.Errorf("the title is %q\n%s", pull.Title, pull.Body)
	}
	w.merge("dev")
	d = w.begin(t.TempDir(), use) // it remembers nothing
	d.cycle()
	if got := release(); got == "" || strings.Contains(got, "suspend") || strings.Contains(got, "prune") {
		t.Errorf("it is not resumed:\n%s", got)
	}
	w.wantStack("destroy: false")
	w.wantVerified("dev")
	report("eks")
	d.cycle()
	if all := w.openOf("dev"); len(all) != 0 {
		t.Fatalf("by the report of another component, its destruction is proposed: %v", all)
	}
	report("web")
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.wantStack("destroy: true")
	w.wantVerified("dev")
	if files := w.below("dev", "environments/checkout/dev"); release() != "" || files["web/objects/uninstall.yaml"] == "" {
		t.Errorf("the chart is not uninstalled:\n%v", files)
	}
	for range 2 {
		report("web")
		report("eks")
		d.cycle()
		w.merge("dev")
		d.cycle()
	}
	w.wantStack("")
}

// TestAbandonedStackKept: what is protected of an abandoned stack, and its namespace, is kept by Flux, which
// has read that before the stack leaves the output.
func TestAbandonedStackKept(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	_, use := w.inbox()
	d := w.begin(w.data, use)
	text := strings.Replace(suspendedStackText, "type: helm,", "type: helm, destroyProtection: true,", 1)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": text})
	d.cycle()
	w.merge("dev")
	d.cycle()
	for _, file := range []string{"namespace.yaml", "web/objects/helmrelease.yaml", "web/objects/helmrepository.yaml", "eks/objects/terraform.yaml"} {
		if got := w.below("dev", "environments/checkout/dev")[file]; !strings.Contains(got, "kustomize.toolkit.fluxcd.io/prune: disabled") {
			t.Errorf("Flux would remove %s:\n%s", file, got)
		}
	}
	w.commitNow("dev", "abandoned", map[string]string{"stacks/checkout.yaml": "", "stacks/settings.yaml": stackSettingsText + "  abandoned: [checkout/dev]\n"})
	d.cycle()
	if got := d.state("dev").Problems; !strings.Contains(got[0].Summary, "except the namespace zmart-checkout-dev and what is protected or suspended in it, which nothing manages any more: eks, web") {
		t.Errorf("the problems are %v", got)
	}
	w.merge("dev")
	d.cycle()
	w.wantStack("")
}

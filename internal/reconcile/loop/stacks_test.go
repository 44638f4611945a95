package loop_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/reconcile/verify"
)

const stackSettingsText = `apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec:
  state: {bucket: zlifecycle-prod-tfstate-zmart, region: us-east-1}
`

const stackFileText = `apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-dev, namespace: zmart-config}
spec:
  teamName: checkout
  envName: dev
  components:
    - {name: network, type: terraform, module: {source: "https://github.com/x/y?ref=v1.0"}}
    - {name: eks, type: terraform, dependsOn: [network], module: {source: "https://github.com/x/y?ref=v1.0"}}
`

// wantStack checks which objects of the stack the output branch has: a part of the Terraform object
// of eks, or "" for no stack at all.
func (w *world) wantStack(part string) {
	w.Helper()
	files := w.below("dev", "environments/checkout/dev")
	if got := files["eks/objects/terraform.yaml"]; !strings.Contains(got, part) || (part == "") != (len(files) == 0) {
		w.Errorf("the output has %d files of the stack, and not %q:\n%s", len(files), part, got)
	}
}

// wantReleased checks that the output branch has the stack without its Terraform objects: their sources and the
// namespace go after them.
func (w *world) wantReleased() {
	w.Helper()
	files := w.below("dev", "environments/checkout/dev")
	if files["eks/objects/terraform.yaml"] != "" || files["eks/objects/gitrepository.yaml"] == "" || files["eks/objects/uninstall.yaml"] == "" || files["namespace.yaml"] == "" {
		w.Errorf("the Terraform objects do not go first: %v", slices.Sorted(maps.Keys(files)))
	}
	w.wantVerified("dev")
}

// wantVerified checks that what a branch of the output holds is rendered again from what its record names.
func (w *world) wantVerified(branch string) {
	w.Helper()
	src, err := source.Open(w.Context(), source.Options{ControlPlane: w.server.URL("cp"), CacheDir: w.TempDir(), Parser: model.NewParser()})
	if err != nil {
		w.Fatal(err)
	}
	repo, err := git.Open(w.server.Dir("out"))
	if err != nil {
		w.Fatal(err)
	}
	all, err := verify.Commit(w.Context(), repo, w.head("out", branch), func(context.Context, string) (*source.Source, error) { return src, nil })
	if err != nil || len(all) == 0 {
		w.Fatalf("%s is not verified: %v (%v)", branch, all, err)
	}
	for _, r := range all {
		if r.Count > 0 {
			w.Errorf("of %s, rendered again, these differ: %v", r.Environment, r.Different)
		}
		isIntact, err := git.InspectTree(repo, w.head("out", branch), func(t tree.Tree) (bool, error) {
			return (*publish.Records)(nil).IsIntact(t.Sub(r.Folder), r.Environment), nil
		})
		if err != nil || !isIntact {
			w.Errorf("of %s, what was published counts as edited by hand (%v)", r.Environment, err)
		}
	}
}

// TestDeletedStack: a stack whose file is deleted is torn down, over restarts, until clusters report
// its teardown as complete: earlier reports, and those of a part of it, are not enough.
func TestDeletedStack(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	inbox, use := w.inbox()
	report := func(component string, phase rollout.Phase) {
		w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: "Kustomization/zmart-checkout-dev/checkout-dev-" + component, Branch: "dev", Commit: w.head("out", "dev"), Phase: phase, When: w.now})
	}
	d := w.begin(w.data, use)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.wantStack("destroy: false")
	report("eks", rollout.Ready)
	report("network", rollout.Ready)

	w.commitNow("dev", "the stack is not needed any more", map[string]string{"stacks/checkout.yaml": ""})
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.wantStack("destroy: true")
	if reason := d.state("dev").Reason; reason != "the stack checkout/dev is being destroyed: 2 plans without approval" {
		t.Errorf("the reason is %q", reason)
	}
	w.wantVerified("dev")
	if o := w.below("dev", "environments/checkout/dev")["network/flux-kustomization.yaml"]; !strings.Contains(o, "- name: checkout-dev-eks") {
		t.Errorf("the network does not wait for eks:\n%s", o)
	}
	d = w.begin(t.TempDir(), use) // it remembers nothing
	d.cycle()
	report("eks", rollout.Ready)
	report("network", rollout.Failed) // it waits for approval
	d.cycle()
	if all := w.openOf("dev"); len(all) != 0 {
		t.Fatalf("half destroyed, its removal is proposed: %v", all)
	}
	w.now = w.now.Add(1)
	report("network", rollout.Ready)
	d.cycle()
	if title := w.open("dev").Title; title != "dev: remove eks and network from checkout/dev" {
		t.Errorf("what is destroyed is removed by a pull request with the title %q", title)
	}
	w.merge("dev")
	d = w.begin(t.TempDir(), use)
	d.cycle()
	w.wantReleased()
	if reason := d.state("dev").Reason; reason != "the stack checkout/dev is being destroyed, until clusters report that" {
		t.Errorf("the reason is %q", reason)
	}
	if all := w.openOf("dev"); len(all) != 0 {
		t.Fatalf("while its Terraform objects go, the rest is removed: %v", all)
	}
	w.now = w.now.Add(1)
	report("eks", rollout.Ready)
	report("network", rollout.Ready)
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.wantStack("")

	// What was reported of the first teardown says nothing of a second one.
	w.commitNow("dev", "the stack is back", map[string]string{"stacks/checkout.yaml": stackFileText})
	d.cycle()
	w.merge("dev")
	w.commitNow("dev", "and gone", map[string]string{"stacks/checkout.yaml": ""})
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.wantStack("destroy: true")
	if all := w.openOf("dev"); len(all) != 0 {
		t.Errorf("by reports of the first teardown, its removal is proposed: %v", all)
	}
}

// TestTornDownStack: while the teardown of a stack waits for a person, its environment has the commit that is merged, and
// what is not merged is said to be the change; then the environment says which stack is torn down, what that waits for,
// and when it is done.
func TestTornDownStack(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, proof: [merged]}\n", "dev")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	d.settle("dev")
	w.merge("dev")
	d.settle("dev")
	w.edit("dev", "stacks/checkout.yaml", "envName: dev", "envName: dev\n  teardown: true")
	d.cycle()
	d.cycle()
	stage, _ := d.store.Snapshot().Chain.FindStage("dev")
	const changed = "the output is merged, but not what has changed in it since: pull request 2 waits for a person: "
	if !stage.Merged || !strings.HasPrefix(stage.Proof.Reason, changed) || stage.Shown != status.StageProposed || !strings.HasPrefix(stage.Action, "merge pull request 2, or run ") || strings.Contains(stage.Action, "being destroyed") {
		t.Errorf("before the merge, dev is %+v", stage)
	}
	w.merge("dev")
	d.cycle()
	d.cycle()
	report := func(component string) {
		w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: "Kustomization/zmart-checkout-dev/checkout-dev-" + component, Branch: "dev", Commit: w.head("out", "dev"), Phase: rollout.Ready, When: w.now})
	}
	for _, c := range []struct{ reported, want string }{
		{"", "the stack checkout/dev is being destroyed: 2 plans without approval"}, {"eks", "the stack checkout/dev is being destroyed: 2 plans without approval"}, {"network", "the stack checkout/dev is destroyed"},
	} {
		if c.reported != "" {
			report(c.reported)
			d.cycle()
		}
		stage, _ := d.store.Snapshot().Chain.FindStage("dev")
		if e := d.state("dev"); e.State != status.InSync || e.Teardowns != c.want || !strings.HasSuffix(e.Reason, c.want) || !strings.HasSuffix(stage.Action, "; "+c.want) {
			t.Errorf("when %q has reported, dev is %s: %q, with the action %q; want %q", c.reported, e.State, e.Reason, stage.Action, c.want)
		}
	}
}

// TestDeletedStackProblem: a stack that is renamed is stopped, and the output stays.
func TestDeletedStackProblem(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	d := w.begin(w.data, func(*loop.Options) {})
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	d.cycle()
	w.merge("dev")
	w.edit("dev", "stacks/checkout.yaml", "teamName: checkout", "teamName: till")
	d.cycle()
	d.wantStopped("dev", "spec.teamName and spec.envName of a stack cannot change: it was checkout/dev")
	w.wantStack("destroy: false")
	w.edit("dev", "stacks/checkout.yaml", "teamName: till", "teamName: checkout")
	d.cycle()
	if n, _ := d.state("dev").Problems.Count(); n != 0 {
		t.Errorf("mended, it has the problems %v", d.state("dev").Problems)
	}
}

// TestMovedStack: a stack that is being torn down moves with the output, over a restart, and so does
// one whose file is deleted when it moves.
func TestMovedStack(t *testing.T) {
	for name, before := range map[string]bool{"deleted before": true, "deleted with it": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev")
			d := w.begin(w.data, func(*loop.Options) {})
			w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
			d.cycle()
			w.merge("dev")
			d.cycle()
			w.commitNow("dev", "the stack is not needed any more", map[string]string{"stacks/checkout.yaml": ""})
			if before {
				d.cycle()
				w.merge("dev")
				d.cycle()
				w.wantStack("destroy: true")
			}
			w.edit("dev", "gitops-repo.yaml", "path: .", "path: moved")
			d = w.begin(t.TempDir(), func(*loop.Options) {})
			for range 2 { // proposed, it is not there yet
				d.cycle()
			}
			w.commitNow("dev", "another change meanwhile", map[string]string{"README.md": "a\n"})
			d.cycle()
			w.merge("dev")
			d.cycle()
			files := w.below("dev", "moved/environments/checkout/dev")
			if !strings.Contains(files["eks/objects/terraform.yaml"], "destroy: true") || !strings.Contains(files["network/flux-kustomization.yaml"], "path: ./moved/environments/checkout/dev/network/objects") {
				t.Errorf("the stack is not torn down where the output is:\n%v", files)
			}
			w.wantStack("")
		})
	}
}

// TestTeardownMergedByDaemon: when the daemon has merged a change of a teardown itself, reports at that commit lead to
// the next step, without a commit of anybody.
func TestTeardownMergedByDaemon(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more = "write: true\nmerge: {dev: direct}\n"
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": strings.ReplaceAll(stackFileText, "type: terraform,", "type: terraform, autoApprove: true,")})
	d.cycle()
	w.edit("dev", "stacks/checkout.yaml", "envName: dev", "envName: dev\n  teardown: true")
	d.cycle()
	w.merge("dev") // it destroys everything, which is left to a person
	d.cycle()
	destroyed := w.head("out", "dev")
	w.edit("dev", "stacks/checkout.yaml", "?ref=v1.0\"}}\n    - {name: eks", "?ref=v1.1\"}}\n    - {name: eks")
	d.cycle()
	w.wantStack("approvePlan: auto")
	merged := w.head("out", "dev")
	if merged == destroyed {
		t.Fatal("the change of network is not merged")
	}
	w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: "Kustomization/zmart-checkout-dev/checkout-dev-eks", Branch: "dev", Commit: merged, Phase: rollout.Ready, When: w.now})
	d.cycle()
	if got := w.below("dev", "environments/checkout/dev")["network/objects/terraform.yaml"]; !strings.Contains(got, "approvePlan: auto\n") {
		t.Errorf("eks is destroyed, and the destruction of network is not approved:\n%s", got)
	}
}

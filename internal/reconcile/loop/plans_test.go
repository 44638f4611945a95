package loop_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// planPulls returns the pull requests of the control plane that ask for plans, by their numbers, with
// their states.
func (w *world) planPulls() map[int]forge.State {
	w.Helper()
	all, err := w.plain("cp").AllPulls()
	if err != nil {
		w.Fatal(err)
	}
	found := map[int]forge.State{}
	for _, p := range all {
		if strings.Contains(p.Head, "change/plan/") {
			found[p.Number] = p.State
		}
	}
	return found
}

var pinnedCommit = regexp.MustCompile(`commit: ([0-9a-f]{40})`)

// modulePin returns the commit to which a component of the stack is pinned.
func (w *world) modulePin(component string) string {
	w.Helper()
	found := pinnedCommit.FindStringSubmatch(w.below("dev", "environments/checkout/dev")[component+"/objects/gitrepository.yaml"])
	if found == nil {
		w.Fatalf("%s is not pinned", component)
	}
	return found[1]
}

// TestDriftProposal: the drift of a component whose plans wait for approval is proposed as one pull
// request, which stays the same over restarts and repeated reports, and is closed when the drift is gone.
// Once it is merged, the component has another plan, and the others have not.
func TestDriftProposal(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	auto := strings.Replace(stackFileText, "{name: eks,", "{name: cache, type: terraform, autoApprove: true, module: {source: \"https://github.com/x/y?ref=v1.0\"}}\n    - {name: eks,", 1)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": auto})
	d.cycle()
	w.merge("dev")
	d.cycle()
	report := func(component, commit string, phase rollout.Phase, message string) {
		w.now = w.now.Add(1e9)
		w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: "Terraform/zmart-checkout-dev/checkout-dev-" + component, Branch: "fairlead-modules-dev", Commit: commit, Phase: phase, Message: message, When: w.now})
	}
	want := func(what string, open, closed int) {
		t.Helper()
		states := map[forge.State]int{}
		for _, s := range w.planPulls() {
			states[s]++
		}
		if states[forge.Open] != open || states[forge.Closed] != closed {
			t.Fatalf("%s: the pull requests are %v, want %d open and %d closed\n%s", what, w.planPulls(), open, closed, w.logs.String())
		}
	}
	eks, network := w.modulePin("eks"), w.modulePin("network")
	report("cache", w.modulePin("cache"), rollout.Drifted, "it corrects itself")
	report("network", eks, rollout.Drifted, "of another root module")
	report("eks", eks, rollout.Failed, "error running Plan")
	d.cycle()
	want("nothing that waits for a person has drifted", 0, 0)

	report("eks", eks, rollout.Drifted, "aws_eks_cluster.this <b>")
	readOnly := w.begin(t.TempDir(), func(o *loop.Options) {
		use(o)
		o.Settings.Write = false
	})
	readOnly.cycle()
	readOnly.cycle()
	said := len(w.logs.String())
	readOnly.cycle()
	if strings.Contains(w.logs.String()[said:], "there is something to do") {
		t.Errorf("a daemon that writes nothing takes the same drift for news again: %s", w.logs.String()[said:])
	}
	want("nothing may be written", 0, 0)
	d.cycle()
	want("drift", 1, 0)
	if pull := d.state("dev").PlanPulls["checkout/dev eks"]; pull == nil || w.planPulls()[pull.Number] != forge.Open {
		t.Errorf("the report names the pull request %+v", pull)
	}
	d = w.begin(t.TempDir(), use)
	report("eks", eks, rollout.Drifted, "aws_eks_cluster.this <b>")
	d.cycle()
	d.cycle()
	want("the same drift", 1, 0)
	report("eks", eks, rollout.Ready, "")
	d.cycle()
	want("the drift is gone", 0, 1)
	if pulls := d.state("dev").PlanPulls; len(pulls) != 0 {
		t.Errorf("without drift, the report names %v", pulls)
	}
	d.quiet("cp", "out")

	report("eks", eks, rollout.Drifted, "another one")
	d.cycle()
	want("drift again", 1, 1)
	gittest.Git(t, w.server.Dir("cp"), "update-ref", "refs/heads/dev", w.head("cp", "fairlead/change/plan/dev/checkout-dev-eks"))
	d.cycle()
	w.merge("dev")
	d.cycle()
	if w.modulePin("eks") == eks || w.modulePin("network") != network {
		t.Errorf("eks is pinned to %s, and was to %s; network to %s, and was to %s", w.modulePin("eks"), eks, w.modulePin("network"), network)
	}
	if file := w.below("dev", "team/checkout-team-environment/dev-environment-component/eks/terraform")["fairlead_request.tf"]; !strings.Contains(file, eks) {
		t.Errorf("the root module does not say why it is another one: %q", file)
	}
	report("eks", w.modulePin("eks"), rollout.Waiting, "")
	d.cycle()
	report("eks", w.modulePin("eks"), rollout.Ready, "")
	for range 2 {
		d.cycle()
	}
	want("corrected", 0, 1)
	d.quiet("cp", "out")
}

// TestDriftWhileStopped: while problems stop an environment, no plan is asked for, and no request is
// withdrawn: what they are about is read in part only.
func TestDriftWhileStopped(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	report := func(component string) {
		w.now = w.now.Add(1e9)
		w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: "Terraform/zmart-checkout-dev/checkout-dev-" + component, Branch: "fairlead-modules-dev",
			Commit: w.modulePin(component), Phase: rollout.Drifted, Message: "a node is gone", When: w.now})
	}
	want := func(what string, open int) {
		t.Helper()
		found := 0
		for _, s := range w.planPulls() {
			if s == forge.Open {
				found++
			}
		}
		if found != open || len(w.planPulls()) != open {
			t.Fatalf("%s: the pull requests are %v, want %d open\n%s", what, w.planPulls(), open, w.logs.String())
		}
	}
	report("eks")
	d.cycle()
	want("drift", 1)
	w.commitNow("dev", "a typo", map[string]string{"stacks/approval.yaml": "kind: PlanApproval\n  metadata: {\n"})
	report("network")
	for range 2 {
		d.cycle()
	}
	want("stopped by problems", 1)
	d = w.begin(t.TempDir(), use)
	d.cycle()
	want("stopped by problems, after a restart", 1)
	w.commitNow("dev", "mended", map[string]string{"stacks/approval.yaml": ""})
	d.cycle()
	want("mended", 2)
}

// TestTerraformIsNotBehind: what an agent reports of a component's Terraform object, which runs its root
// module, and of the source of that, does not say that the cluster is behind the output.
func TestTerraformIsNotBehind(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct}\n", "dev")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	w.commitNow("dev", "a stack", map[string]string{"stacks/settings.yaml": stackSettingsText, "stacks/checkout.yaml": stackFileText})
	for range 4 {
		d.cycle()
	}
	report := func(object, branch, commit string) {
		w.now = w.now.Add(1e9)
		w.add(inbox, observe.Event{Cluster: "one", Environment: "dev", Object: object, Branch: branch, Commit: commit, Phase: rollout.Ready, When: w.now})
	}
	for _, kind := range []string{"Terraform", "GitRepository"} {
		report(kind+"/zmart-checkout-dev/checkout-dev-eks", "fairlead-modules-dev", w.modulePin("eks"))
	}
	report("Kustomization/flux-system/fleet", "dev", w.head("out", "dev"))
	d.cycle()
	d.cycle()
	if proof := d.stage("dev").Proof; proof.Status != "pass" {
		t.Errorf("the proof is %+v\n%s", proof, w.logs.String())
	}
}

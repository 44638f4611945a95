package loop_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const comparedSettingsText = `apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec:
  state: {bucket: states, region: us-east-1}
  plans: {webhook: "http://fairlead.fairlead.svc:8080/webhooks/plans"}
`

// partPin returns the commit to which the bootstrap of the cluster is pinned, and the name of that part.
func (w *world) partPin() (part, commit string) {
	w.Helper()
	for file, text := range w.below("dev", "clusters/tofu/fleet-edge") {
		if strings.HasSuffix(file, "-k8s/gitrepository.yaml") {
			return strings.Split(file, "/")[1], pinnedCommit.FindStringSubmatch(text)[1]
		}
	}
	w.Fatal("there is no bootstrap")
	return "", ""
}

// reportPart reports how the bootstrap of the cluster is, at the root module that it has.
func (w *world) reportPart(phase rollout.Phase, message string) {
	w.Helper()
	inbox := w.openReports(w.reportsFile)
	defer w.closeReports(inbox)
	part, commit := w.partPin()
	w.now = w.now.Add(time.Minute)
	w.add(inbox, observe.Event{
		Cluster: "management", Environment: "dev", Object: "Terraform/fleet/" + part, Branch: "fairlead-modules-dev", Commit: commit, Phase: phase, Message: message, When: w.now,
	})
}

// TestPartPlans: what waits for approval of a cluster that tofu-controller makes is in the pull request, and
// the drift of a part is proposed as one request for another plan, which is closed when it is gone, and makes
// another plan of that part when it is merged. Whenever the process dies, the next one comes to the same end.
func TestPartPlans(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "parallel: 1\n"
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	pin := ""
	for _, step := range []struct {
		name       string
		before     func()
		title      string // of what is proposed for the output; "" if nothing is
		body       string // of that
		open, done int    // requests for plans that are open, and that were closed
	}{
		{"made", func() {
			w.commitNow("dev", "clusters", map[string]string{
				"clusters/edge.yaml": phasedManifestText, "clusters/settings.yaml": comparedSettingsText,
				"clusters/modules.yaml": strings.Replace(clusterModulesText, "  autoApprove: true\n", "", 1),
			})
		}, "dev: create cluster one; add cluster types cloud and edge with hello-web", "- Waits for approval: `one-", 0, 0},
		{"drifted", func() {
			_, pin = w.partPin()
			w.reportPart(rollout.Drifted, "a node is gone")
		}, "", "", 1, 0},
		{"the drift is gone", func() { w.reportPart(rollout.Ready, "") }, "", "", 0, 1},
		{"drifted again", func() { w.reportPart(rollout.Drifted, "a node is gone again") }, "", "", 1, 1},
		{"planned again", func() {
			part, _ := w.partPin()
			gittest.Git(t, w.server.Dir("cp"), "update-ref", "refs/heads/dev", w.head("cp", "fairlead/change/plan/dev/clusters--fleet-edge--"+part))
		}, "dev: change 1 part of manifest fleet/edge", "- Waits for approval: `one-", 0, 1},
	} {
		step.before()
		w.now = w.now.Add(time.Hour)
		before := w.save()
		w.life(w.data)
		want := w.outcome()
		var steps []string
		if step.title == "" {
			steps = w.killAtEveryStep(before, w.beginAgain(want))
			w.wantOutcome(step.name+": never killed", want)
		}
		if proposed := len(w.openOf("dev")) > 0; proposed != (step.title != "") {
			t.Fatalf("%s: something is proposed: %v; the steps were %v; the log:\n%s", step.name, proposed, steps, w.logs.String())
		}
		if step.title != "" {
			if pull := w.open("dev"); pull.Title != step.title || !strings.Contains(pull.Body, step.body) {
				t.Errorf("%s: the pull request is %q, and has to be %q with %q:\n%s", step.name, pull.Title, step.title, step.body, pull.Body)
			}
			w.merge("dev")
			w.life(w.data)
		}
		states := map[forge.State]int{}
		for _, s := range w.planPulls() {
			states[s]++
		}
		if states[forge.Open] != step.open || states[forge.Closed] != step.done {
			t.Fatalf("%s: the requests for plans are %v; the steps were %v; the log:\n%s", step.name, states, steps, w.logs.String())
		}
	}
	if _, now := w.partPin(); now == pin {
		t.Error("the part has no other root module than before, so that tofu-controller makes no other plan")
	}
}

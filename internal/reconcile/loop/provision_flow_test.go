package loop_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const fleetManifestText = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
      - {name: work, providerSpec: {name: hetzner-1, region: hel1}, count: 2, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: [work]}}
      - {name: two, version: 1.36.0, network: 192.168.3.0/24, pools: {control: [control], compute: []}}
      - {name: three, version: 1.36.0, network: 192.168.4.0/24, pools: {control: [control], compute: [work]}}
`

const fleetBindingText = `apiVersion: fairlead.io/v1alpha1
kind: ClusterBinding
metadata: {name: edge}
spec:
  inputManifest: {name: edge}
  clusters:
    - {name: one, clusterType: cloud}
    - {name: two, clusterType: edge}
    - {name: three, clusterType: edge, prepare: .flux}
`

// reportStep reports, as Flux on the management cluster does, how far a Kustomization of the manifest is at
// the head of the output.
func (w *world) reportStep(step string, phase rollout.Phase) {
	w.Helper()
	inbox := w.openReports(w.reportsFile)
	defer w.closeReports(inbox)
	w.now = w.now.Add(time.Minute)
	w.add(inbox, observe.Event{
		Cluster: "management", Environment: "dev", Object: "Kustomization/flux-system/im-fleet-edge-" + step,
		Branch: "dev", Commit: w.head("out", "dev"), Phase: phase, When: w.now,
	})
}

// TestProvisionedFleet: three clusters, of which one gets another pool and another one is decommissioned
// in three changes, of which each comes after the one before was reported as done: it is destroyed when what
// ran on it is removed. Whenever the process dies, the next one comes to the same end.
func TestProvisionedFleet(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "parallel: 1\n"
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	const kubeconfig, attachment = "30-kubeconfigs/three.yaml", "name: im-fleet-edge-40-three"
	const manifest, detached = "20-inputmanifest", "path: ./clusters/claudie/fleet-edge/40-detached/three"
	change := func(text string) func() {
		return func() { w.commitNow("dev", "change", map[string]string{"clusters/edge.yaml": text}) }
	}
	swapped := strings.NewReplacer("{name: work, ", "{name: work-v2, ", "serverType: cpx22, image: ubuntu-24.04}\n  kub", "serverType: cpx32, image: ubuntu-24.04}\n  kub", "[work]", "[work-v2]").Replace(fleetManifestText)
	lines := strings.SplitAfter(swapped, "\n")
	removed := strings.Replace(strings.Join(lines[:len(lines)-2], ""), "annotations: {", "annotations: {fairlead.io/decommission: \"true\", ", 1)
	const prepared, prepare = "kind: Namespace\n", "name: im-fleet-edge-35-three"
	people := w.server.Work(t, "out")
	binding := strings.Join(strings.SplitAfter(fleetBindingText, "\n")[:8], "")
	for _, step := range []struct {
		name    string
		before  func()
		changes bool // something is proposed
		body    string
		has     string // what the output has then, and hasNot
		hasNot  string
	}{
		{"made", func() {
			w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": fleetManifestText, "clusters/binding.yaml": fleetBindingText, "clusters/settings.yaml": managementText})
		}, true, "create the machines of compute pool work", attachment, "rollout:"},
		{"pool swapped", change(swapped), true, "drain and remove nodes of compute pool work", "work-v2", "name: work\n"},
		{"Flux is put beside the output", func() {
			people.Pull("dev")
			people.Write(".flux/flux.yaml", prepared)
			people.Commit("Flux for new clusters")
			people.Push("dev")
		}, false, "", prepare, "rollout:"},
		{"reported", func() { w.reportStep(manifest, rollout.Ready) }, false, "", attachment, "rollout:"},
		{"detached", func() {
			w.commitNow("dev", "three goes", map[string]string{"clusters/edge.yaml": removed, "clusters/binding.yaml": binding})
		}, true, "This is the first of three changes: Flux removes what runs on `three`", detached, "leaving:"},
		{"its workloads are removed", func() { w.reportStep("40-three", rollout.Progressing) }, false, "", "name: three", "leaving:"},
		{"they cannot be removed", func() { w.reportStep("40-three", rollout.Failed) }, false, "", "name: three", "leaving:"},
		{"another step is ready", func() { w.reportStep(manifest, rollout.Ready) }, false, "", "name: three", "leaving:"},
		{"decommissioned", func() { w.reportStep("40-three", rollout.Ready) }, true, "This is the second of three changes. The kubeconfig of `three` and the credentials stay", kubeconfig, attachment},
		{"at work", func() { w.reportStep(manifest, rollout.Progressing) }, false, "", kubeconfig, attachment},
		{"failed", func() { w.reportStep(manifest, rollout.Failed) }, false, "", kubeconfig, attachment},
		{"destroyed", func() { w.reportStep(manifest, rollout.Ready) }, true, "This is the last change of those that began with the phase contract.", "30-kubeconfigs/two.yaml", kubeconfig},
		{"quiet", func() {}, false, "", "30-kubeconfigs/two.yaml", prepare},
	} {
		step.before()
		w.now = w.now.Add(time.Hour)
		before, head := w.save(), w.head("out", "dev")
		w.life(w.data)
		want := w.outcome()
		steps := w.killAtEveryStep(before, w.beginAgain(want))
		w.wantOutcome(step.name+": never killed", want)
		if proposed := len(w.openOf("dev")) > 0; proposed != step.changes {
			t.Fatalf("%s: something is proposed: %v; the steps were %v; the log:\n%s", step.name, proposed, steps, w.logs.String())
		}
		if step.changes {
			if body := w.open("dev").Body; !strings.Contains(body, step.body) {
				t.Errorf("%s: the pull request does not say %q:\n%s", step.name, step.body, body)
			}
			w.merge("dev")
			w.life(w.data)
			w.wantVerified("dev")
		} else if w.head("out", "dev") != head {
			t.Errorf("%s: the output changes", step.name)
		}
		var all strings.Builder
		for file, text := range w.below("dev", "clusters/claudie/fleet-edge") {
			all.WriteString(file + "\n" + text)
		}
		if !strings.Contains(all.String(), step.has) || strings.Contains(all.String(), step.hasNot) {
			t.Errorf("%s: the output has not %q, or has %q:\n%s", step.name, step.has, step.hasNot, all.String())
		}
	}
	if files := w.below("dev", ".flux"); files["flux.yaml"] != prepared {
		t.Errorf("what clusters are prepared with is %v", files)
	}
}

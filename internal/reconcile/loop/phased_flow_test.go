package loop_test

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

const phasedManifestText = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/executor: tofu, fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
---
apiVersion: fairlead.io/v1alpha1
kind: ClusterBinding
metadata: {name: edge}
spec:
  inputManifest: {name: edge}
  clusters: [{name: one, clusterType: cloud}]
`

const clusterModulesText = `apiVersion: fairlead.io/v1alpha1
kind: ClusterModules
metadata: {name: infra}
spec:
  repo: https://example.com/gull/infra-modules
  ref: v1.4.0
  autoApprove: true
  providers:
    hetzner: {network: {path: modules/network}, pool: {path: modules/pool}}
  bootstrap: {path: modules/k3s}
`

// appliedBy matches the names of the Kustomizations in a flux.yaml.
var appliedBy = regexp.MustCompile(`(?m)^metadata:\n {2}name: (\S+)\n {2}namespace: (\S+)`)

// reportParts reports how far the Kustomizations of a manifest that tofu-controller carries out are at the
// head of the output: those whose names have a text, and all others as ready; "" for all of them.
func (w *world) reportParts(part string, phase rollout.Phase) {
	w.Helper()
	inbox := w.openReports(w.reportsFile)
	defer w.closeReports(inbox)
	w.reportPartsTo(inbox, part, phase)
}

// reportPartsTo is reportParts to what clusters have reported.
func (w *world) reportPartsTo(known *recorder.Recorder, part string, phase rollout.Phase) {
	w.Helper()
	w.now = w.now.Add(time.Minute)
	for _, name := range appliedBy.FindAllStringSubmatch(w.below("dev", "clusters/tofu/fleet-edge")["flux.yaml"], -1) {
		reported := rollout.Ready
		if strings.Contains(name[1], part) {
			reported = phase
		}
		w.add(known, observe.Event{
			Cluster: "management", Environment: "dev", Object: "Kustomization/" + name[2] + "/" + name[1],
			Branch: "dev", Commit: w.head("out", "dev"), Phase: reported, When: w.now,
		})
	}
}

// TestPhasedCluster: where the control plane of a cluster gets other machines, tofu-controller is given
// four changes, each after the clusters have reported all of the one before. Whenever the process dies,
// the next one comes to the same end, and to no phase early.
func TestPhasedCluster(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "parallel: 1\n"
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	const (
		old, both, new = "control", "control control-v2", "control-v2"
		first, second  = "{expand control}", "{switch control-v2}"
		third          = "{contract control-v2}"
		none, done     = "{ control}", "{ control-v2}"
	)
	for _, step := range []struct {
		name   string
		before func()
		body   string // of what is proposed; "" if nothing is
		title  string // of that
		pools  string // that the output has then
		lock   string // the phase in its lock, and the pool that answers for the API server
	}{
		{"made", func() {
			w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": phasedManifestText, "clusters/modules.yaml": clusterModulesText, "clusters/settings.yaml": managementText})
		}, "install Kubernetes", "dev: create cluster one; add cluster types cloud and edge with hello-web", old, none},
		{"swapped", func() {
			w.edit("dev", "clusters/edge.yaml", "{name: control,", "{name: control-v2,")
			w.edit("dev", "clusters/edge.yaml", "control: [control]", "control: [control-v2]")
		}, "This is the phase expand of expand, switch and contract.", "dev: add pool control-v2 to cluster one", both, first},
		{"not reported", func() {}, "", "", both, first},
		{"a machine is not there yet", func() { w.reportParts("control-v2", rollout.Progressing) }, "", "", both, first},
		{"a plan waits for approval", func() { w.reportParts("control-v2", rollout.Failed) }, "", "", both, first},
		{"expanded", func() { w.reportParts("", rollout.Ready) }, "This is the phase switch of expand, switch and contract.", "dev: move the API endpoint of cluster one (outage)", both, second},
		{"what was reported before is not the switch", func() {}, "", "", both, second},
		{"switched", func() { w.reportParts("", rollout.Ready) }, "What nothing uses any more is destroyed; then", "dev: REMOVE pool control of cluster one (outage)", both, third},
		{"not destroyed yet", func() { w.reportParts("np-control-control", rollout.Progressing) }, "", "", both, third},
		{"destroyed", func() { w.reportParts("", rollout.Ready) }, "What nothing uses any more is destroyed; then", "dev: remove 1 destroyed part of manifest fleet/edge", new, third},
		{"its Terraform object is gone", func() { w.reportParts("", rollout.Ready) }, "This is the last change of those that began with the phase contract.", "dev: remove what was destroyed of manifest fleet/edge", new, done},
		{"quiet", func() { w.reportParts("", rollout.Ready) }, "", "", new, done},
	} {
		step.before()
		w.now = w.now.Add(time.Hour)
		before, head := w.save(), w.head("out", "dev")
		w.life(w.data)
		want := w.outcome()
		if proposed := len(w.openOf("dev")) > 0; proposed != (step.body != "") {
			t.Fatalf("%s: something is proposed: %v; the log:\n%s", step.name, proposed, w.logs.String())
		}
		if step.body != "" {
			w.killAtEveryStep(before, w.beginAgain(want))
			w.wantOutcome(step.name+": never killed", want)
			if pull := w.open("dev"); pull.Title != step.title || !strings.Contains(pull.Body, step.body) {
				t.Errorf("%s: the pull request is %q, and has to be %q with %q:\n%s", step.name, pull.Title, step.title, step.body, pull.Body)
			}
			w.merge("dev")
			w.life(w.data)
			w.wantVerified("dev")
		} else if w.head("out", "dev") != head {
			t.Errorf("%s: the output changes", step.name)
		}
		if pools, lock := w.describePhase(); pools != step.pools || lock != step.lock {
			t.Errorf("%s: the output has the pools %q and the lock %s, want %q and %s", step.name, pools, lock, step.pools, step.lock)
		}
	}
}

// describePhase returns the pools of the cluster in the output that have machines, and of its lock the phase
// and the pool that answers for the API server.
func (w *world) describePhase() (pools, lock string) {
	w.Helper()
	files := w.below("dev", "clusters/tofu/fleet-edge")
	var names []string
	for file := range files {
		if _, pool, ok := strings.Cut(file, "-np-control-"); ok && path.Base(file) == "terraform.yaml" {
			names = append(names, path.Dir(pool))
		}
	}
	slices.Sort(names)
	state, err := provision.ParseLock([]byte(files["lock.yaml"]))
	if err != nil {
		w.Fatal(err)
	}
	var phase provision.Phase
	if state.Rollout != nil {
		phase = state.Rollout.Phase
	}
	return strings.Join(names, " "), fmt.Sprintf("{%s %s}", phase, state.Endpoints["one"].Pool)
}

// TestPhasedClusterReported: a daemon that goes on proposes the next phase because of reports alone, and
// names what it waits for until then.
func TestPhasedClusterReported(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": phasedManifestText, "clusters/modules.yaml": clusterModulesText, "clusters/settings.yaml": managementText})
	d.cycle()
	w.merge("dev")
	d.cycle()
	w.edit("dev", "clusters/edge.yaml", "{name: control,", "{name: control-v2,")
	w.edit("dev", "clusters/edge.yaml", "control: [control]", "control: [control-v2]")
	d.cycle()
	w.merge("dev")
	d.cycle()
	for _, phase := range []string{"switch", "is destroyed; then", "1 destroyed part", "last change"} {
		w.reportPartsTo(inbox, "np-control-control", rollout.Progressing)
		d.cycle()
		if all := w.openOf("dev"); len(all) > 0 {
			t.Fatalf("%s: a phase early, %v is proposed", phase, all)
		}
		if said := fmt.Sprint(d.state("dev").Problems); !strings.Contains(said, "until the management cluster reports") {
			t.Errorf("%s: it is not said what it waits for: %s", phase, said)
		}
		w.reportPartsTo(inbox, "", rollout.Ready)
		d.cycle()
		if body := w.open("dev").Body; !strings.Contains(body, phase) {
			t.Errorf("the pull request does not say %q:\n%s", phase, body)
		}
		w.merge("dev")
		d.cycle()
	}
	d.quiet("cp", "out")
}

// TestPhasedClusterTakenBack: what a phase has added, and nothing uses yet, may be given up before it is
// there: it is destroyed, and its objects stay until that was observed.
func TestPhasedClusterTakenBack(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	inbox, use := w.inbox()
	d := w.begin(w.data, use)
	swap := func(old, new string) {
		w.edit("dev", "clusters/edge.yaml", "{name: "+old+",", "{name: "+new+",")
		w.edit("dev", "clusters/edge.yaml", "control: ["+old+"]", "control: ["+new+"]")
	}
	for _, step := range []struct {
		name        string
		do          func()
		title       string // of what is proposed; "" if nothing is
		pools, lock string
	}{
		{"made", func() {
			w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": phasedManifestText, "clusters/modules.yaml": clusterModulesText, "clusters/settings.yaml": managementText})
		}, "dev: create cluster one; add cluster types cloud and edge with hello-web", "control", "{ control}"},
		{"swapped", func() { swap("control", "control-v2") }, "dev: add pool control-v2 to cluster one", "control control-v2", "{expand control}"},
		{"nobody approves its plan", func() { w.reportPartsTo(inbox, "control-v2", rollout.Failed) }, "", "control control-v2", "{expand control}"},
		{"taken back", func() { swap("control-v2", "control") }, "dev: REMOVE pool control-v2 of cluster one (outage)", "control control-v2", "{contract control}"},
		{"not destroyed yet", func() { w.reportPartsTo(inbox, "control-v2", rollout.Progressing) }, "", "control control-v2", "{contract control}"},
		{"destroyed", func() { w.reportPartsTo(inbox, "", rollout.Ready) }, "dev: remove 1 destroyed part of manifest fleet/edge", "control", "{contract control}"},
		{"its Terraform object is gone", func() { w.reportPartsTo(inbox, "", rollout.Ready) }, "dev: remove what was destroyed of manifest fleet/edge", "control", "{ control}"},
	} {
		step.do()
		d.cycle()
		if step.title == "" {
			if all := w.openOf("dev"); len(all) > 0 {
				t.Fatalf("%s: %v is proposed", step.name, all)
			}
		} else {
			if pull := w.open("dev"); pull.Title != step.title {
				t.Errorf("%s: the pull request is %q, want %q:\n%s", step.name, pull.Title, step.title, pull.Body)
			}
			w.merge("dev")
			d.cycle()
		}
		if pools, lock := w.describePhase(); pools != step.pools || lock != step.lock {
			t.Errorf("%s: the output has the pools %q and the lock %s, want %q and %s", step.name, pools, lock, step.pools, step.lock)
		}
	}
	d.quiet("cp", "out")
}

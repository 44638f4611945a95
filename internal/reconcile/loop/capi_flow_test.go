package loop_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// TestDetachedFromClusterAPI: a cluster of Cluster API is permitted to go by one commit, and removed by
// another one: Flux removes what runs on it first, and the Cluster is in the output until that was observed.
// Whenever the process dies while it destroys the cluster, the next one comes to the same end.
func TestDetachedFromClusterAPI(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "parallel: 1\n"
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	manifest := strings.Replace(fleetManifestText, "annotations: {", "annotations: {fairlead.io/executor: capi, ", 1)
	write := func(manifest, binding string) func() {
		return func() {
			w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": manifest, "clusters/binding.yaml": binding, "clusters/settings.yaml": managementText})
		}
	}
	report := func(phase rollout.Phase) func() {
		return func() {
			inbox := w.openReports(w.reportsFile)
			defer w.closeReports(inbox)
			w.now = w.now.Add(time.Minute)
			w.add(inbox, observe.Event{
				Cluster: "management", Environment: "dev", Object: "Kustomization/fleet/im-fleet-edge-40-three",
				Branch: "dev", Commit: w.head("out", "dev"), Phase: phase, When: w.now,
			})
		}
	}
	leave := strings.Replace(manifest, "annotations: {", "annotations: {fairlead.io/decommission: \"true\", ", 1)
	lines, bound := strings.SplitAfter(leave, "\n"), strings.SplitAfter(fleetBindingText, "\n")
	without := strings.Join(lines[:len(lines)-2], "")
	for _, step := range []struct {
		name    string
		do      func()
		title   string // of what is proposed; "" if nothing is
		cluster string // what the output has of the cluster
	}{
		{"made", write(manifest, fleetBindingText), "dev: create 3 clusters; add 2 cluster types", "protected, attached"},
		{"permitted to go", write(leave, fleetBindingText), "dev: let clusters one, three and two be removed by the next change", "there, attached"},
		{"removed", write(without, strings.Join(bound[:8], "")), "dev: DETACH cluster type edge from cluster three", "there, detached"},
		{"not reported", func() {}, "", "there, detached"},
		{"its workloads are removed", report(rollout.Progressing), "", "there, detached"},
		{"detached", report(rollout.Ready), "dev: DESTROY cluster three", "gone"},
	} {
		step.do()
		w.now = w.now.Add(time.Hour)
		before := w.save()
		w.life(w.data)
		if strings.Contains(step.title, "DESTROY") {
			want := w.outcome()
			if steps := w.killAtEveryStep(before, w.beginAgain(want)); !slices.Contains(steps, "open the pull request") {
				t.Errorf("%s: the steps were %q", step.name, steps)
			}
			w.wantOutcome(step.name+": never killed", want)
		}
		switch all := w.openOf("dev"); {
		case step.title == "" && len(all) > 0:
			t.Fatalf("%s: %v is proposed", step.name, all)
		case step.title != "":
			if pull := w.open("dev"); !strings.HasPrefix(pull.Title, step.title) {
				t.Errorf("%s: the pull request is %q, want %q:\n%s", step.name, pull.Title, step.title, pull.Body)
			} else if strings.Contains(pull.Title, "DETACH") != strings.Contains(pull.Body, "This is the first of two changes: Flux removes what runs on `three`") {
				t.Errorf("%s: the pull request says\n%s", step.name, pull.Body)
			}
			w.merge("dev")
			w.life(w.data)
		}
		files := w.below("dev", "clusters/capi/fleet-edge")
		object, there := files["20-clusters/cluster-three.yaml"]
		is := "gone"
		if there {
			is = map[bool]string{true: "protected", false: "there"}[strings.Contains(strings.SplitN(object, "\n---\n", 2)[0], "prune: disabled")]
		}
		if _, k, attached := strings.Cut(files["flux.yaml"], "name: im-fleet-edge-40-three\n"); attached {
			is += map[bool]string{true: ", detached", false: ", attached"}[strings.Contains(strings.SplitN(k, "\n---\n", 2)[0], "40-detached/three")]
		}
		if is != step.cluster {
			t.Errorf("%s: the cluster is %s, want %s", step.name, is, step.cluster)
		}
	}
}

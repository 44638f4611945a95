package loop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const inShops = `
    - name: dev
      merge: direct
      proof: []
      waves:
        - {name: one, clusters: {}, pick: {percent: 1, order: name}, proof: [rollout, {soak: 1h}]}
        - {name: ten, clusters: {matchLabels: {location: edge}}, pick: {percent: 10, order: name}}
    - {name: stage, after: [dev], merge: direct, proof: []}
`

// shops is how many clusters of the type edge have folders of their own.
const shops = 100

func newShops(t *testing.T) *waveWorld {
	t.Helper()
	w := newWaveWorld(t, "direct")
	edge := gittest.Show(w, w.server.Dir("cp"), "dev", "cluster-types/edge.yaml")
	var list strings.Builder
	for i := range shops {
		fmt.Fprintf(&list, "{name: shop-%03d, type: edge}, ", i)
	}
	w.commitNow("main", "waves of single clusters", map[string]string{promotionFile: chainOf(inShops)})
	w.commitNow("dev", "a folder for each shop", map[string]string{
		"cluster-types/edge.yaml": strings.Replace(edge, "name: edge\n", "name: edge\n  annotations: {fairlead.io/per-cluster: \"true\"}\n", 1),
		"clusters.yaml":           own("ClusterList", "shops", "{clusters: ["+list.String()+"]}"),
	})
	w.settle()
	w.wantShops(0, 1)
	if _, kept := gittest.Files(w, w.server.Dir("out"), "dev")["edge/README.md"]; !kept {
		t.Error("the folder of the type is removed before the last wave")
	}
	w.reportShops(rollout.Ready, 0, 1)
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	w.reportShops(rollout.Ready, 0, shops)
	w.settle()
	w.merge("dev") // it removes a folder, so that a person decides
	w.settle()
	w.wantShops(0, shops)
	if r := w.written(); r.Advance != nil || slices.Contains(r.Folders, "edge") {
		t.Fatalf("the record is %+v", r)
	}
	return w
}

// wantShops checks that the first shops, with folders of their own, have a level, and no other folder has.
func (w *waveWorld) wantShops(level, want int) {
	w.Helper()
	got := 0
	for i, folder := range strings.Fields(w.folderLevels(w.head("out", "dev"))) {
		if name, at, _ := strings.Cut(folder, ":"); strings.HasPrefix(name, "shop-") && at == fmt.Sprint(level) {
			got++
			if level > 0 && i >= 2+want {
				w.Errorf("%s has level %d", name, level)
			}
		}
	}
	if got != want {
		w.Fatalf("%d shops have level %d, want %d; the log:\n%s", got, level, want, w.logs.String())
	}
	w.verifies(w.head("out", "dev"))
}

func (w *waveWorld) reportShops(phase rollout.Phase, from, to int) {
	w.Helper()
	for i := from; i < to; i++ {
		e := w.fluxEvent(fmt.Sprintf("shop-%03d", i), phase)
		e.ClusterType, e.Message = e.Cluster, string(phase)
		w.add(w.inbox, e)
	}
}

// TestWavesOfClusters: of the clusters of one type one percent changes first, then ten, then all. Where the first
// one fails, no other changes.
func TestWavesOfClusters(t *testing.T) {
	w := newShops(t)
	commit := w.changeNow(1)
	w.names[commit] = "1"
	w.settle()
	w.wantShops(1, 1)
	arrivals, err := w.d.Simulate(t.Context(), commit)
	if err != nil || !strings.Contains(fmt.Sprint(arrivals[1].WaitsFor), "wave one: ") || !strings.Contains(fmt.Sprint(arrivals[1].WaitsFor), "wave ten: ") {
		t.Errorf("stage waits for %+v, %v", arrivals, err)
	}
	w.wantWaves("one rolling-out 0/1, ten waiting 0/10, rest waiting 0/89")
	w.reportShops(rollout.Ready, 1, shops) // which got nothing new
	w.reportShops(rollout.Failed, 0, 1)
	w.settle()
	w.d.pass(2 * time.Hour)
	w.settle()
	w.wantShops(1, 1)
	w.wantWaves("one failed 0/1, ten waiting 0/10, rest waiting 0/89")
	if reason := w.d.state("dev").Reason; !strings.Contains(reason, "is halted: wave one failed") || !strings.Contains(reason, "on shop-000") {
		t.Errorf("dev is %q", reason)
	}
	w.reportShops(rollout.Ready, 0, 1)
	w.settle()
	w.restart()
	w.settle()
	w.wantShops(1, 1)
	w.d.pass(time.Hour)
	w.settle()
	w.wantShops(1, 11)
	w.wantWaves("one verified 1/1, ten rolling-out 0/10, rest waiting 0/89")
	w.wantLine(w.names, "dev=1 stage=0")
	w.reportShops(rollout.Ready, 1, 10)
	w.settle()
	w.wantShops(1, 11)
	w.reportShops(rollout.Ready, 10, 11)
	w.settle()
	w.wantShops(1, shops)
	w.wantLine(w.names, "dev=1 stage=1")
	if r := w.written(); r.Advance != nil || r.Older != nil {
		t.Errorf("the record is %+v", r)
	}
}

// TestWaveFreezeExcept: all waves of a commit that a freeze lets pass do, and nothing after them.
func TestWaveFreezeExcept(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.freeze("")
	commit := w.changeNow(1)
	w.settle()
	w.wantFolders("cloud=0 edge=0 field=0")
	w.freeze(", except: [{commit: " + commit + ", reason: a fix}]")
	w.wantFolders("cloud=1 edge=0 field=0")
	w.ready("cloud")
	w.settle()
	w.d.pass(time.Hour)
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	w.ready("field")
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
	w.level("debug", "warning")
	w.settle()
	if w.hasPull() || w.written().Advance != nil {
		t.Errorf("after the waves of the commit a change passes the freeze: %+v", w.written())
	}
}

// TestWaveRetry: each retry has the workflows of the running advance run again, and takes back other decisions.
func TestWaveRetry(t *testing.T) {
	w := newWaveWorld(t, "manual")
	w.settings("manual", "{soak: 1h}]}", "{dispatch: {workflow: smoke.yaml}}]}")
	w.beginWaves(1)
	id := w.written().Advance.ID
	w.decide(model.WaveDecision{Action: model.SkipWave, Wave: "canary", Reason: "no time"})
	for want := 1; want <= 2; want++ {
		r, err := actions.RetryWaves(t.Context(), w.openActions(), "dev", "the runner was full")
		if err != nil || !r.Changed {
			t.Fatalf("%+v, %v", r, err)
		}
		all := gittest.Files(t, w.server.Dir("cp"), "dev")
		n := 0
		for file, text := range all {
			if strings.HasPrefix(file, ".fairlead/waves/") {
				n++
				if !strings.Contains(text, "action: retry") || !strings.Contains(text, id) {
					t.Errorf("%s: %s", file, text)
				}
			}
		}
		if n != want {
			t.Errorf("after retry %d there are %d decisions", want, n)
		}
	}
}

// TestWaveStatuses: commit statuses whose contexts name a cluster type count in the wave of this, also on later commits.
func TestWaveStatuses(t *testing.T) {
	w := newWaveWorld(t, "direct")
	w.settings("direct", "[rollout, {soak: 1h}]", "[{rollout: {contexts: ['kustomization/*/{clusterType}.{cluster}']}}]")
	report := func(clusterType string, outcome forge.Outcome) {
		t.Helper()
		w.says("dev", "kustomization/fleet/"+clusterType+"."+clusterType+"-1", outcome, "reconciled")
	}
	report("cloud", forge.Success)
	w.names[w.changeNow(1)] = "1"
	w.settle()
	report("edge", forge.Success)
	w.ready("cloud")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=0")
	report("cloud", forge.Success)
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	report("cloud", forge.Failure)
	w.ready("field")
	w.settle()
	w.wantFolders("cloud=1 edge=0 field=1")
	w.wantWaves("canary failed 1/1, first-edge verified 1/1, rest waiting 0/0")
	report("cloud", forge.Success)
	w.settle()
	w.wantFolders("cloud=1 edge=1 field=1")
}

package loop_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// devAndStage promotes from dev to stage when two clusters run a commit.
const devAndStage = `
    - {name: dev, merge: direct, proof: [rollout: {clusters: 2}]}
    - {name: stage, after: [dev], merge: direct, proof: []}
`

// fluxEvent returns an event of a cluster of dev, now.
func (w *world) fluxEvent(cluster string, phase rollout.Phase) observe.Event {
	return observe.Event{
		Cluster: cluster, Environment: "dev", Object: "Kustomization/flux-system/fleet",
		Branch: "dev", Commit: w.head("out", "dev"), Phase: phase, When: w.now,
	}
}

func (w *world) add(inbox *recorder.Recorder, e observe.Event) {
	w.Helper()
	if _, err := inbox.Add(e); err != nil {
		w.Fatal(err)
	}
}

// TestErrorWithoutRevision: a cluster that reported a commit as ready, and then an error that names no
// revision, does not run it.
func TestErrorWithoutRevision(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, devAndStage, "dev", "stage")
	inbox, use := w.inbox()
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data, use)
	d.settle("dev", "stage")
	w.add(inbox, w.fluxEvent("one", rollout.Ready))
	d.pass(time.Minute)
	denied, err := observe.ParseFlux([]byte(`{"involvedObject": {"kind": "Kustomization", "namespace": "flux-system", "name": "fleet", "apiVersion": "kustomize.toolkit.fluxcd.io/v1"},
		"severity": "error", "reason": "AccessDenied", "message": "can't access 'GitRepository/flux-system/fleet'",
		"timestamp": "`+w.now.Format(time.RFC3339)+`", "metadata": {"cluster": "one", "environment": "dev"}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	w.add(inbox, denied)
	w.add(inbox, w.fluxEvent("two", rollout.Ready))
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	d.wantNext("stage", promote.Waiting, "Kustomization/flux-system/fleet failed on one: can't access 'GitRepository/flux-system/fleet'")
	w.add(inbox, w.fluxEvent("one", rollout.Ready))
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=1")
}

// TestLostReports: clusters whose reports were lost do not count, and a gate does not pass because of
// that: it waits, and says why.
func TestLostReports(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, devAndStage, "dev", "stage")
	file := filepath.Join(t.TempDir(), "ledger.db")
	inbox := w.openReports(file)
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data, func(o *loop.Options) { o.Inbox = inbox })
	d.settle("dev", "stage")
	for _, cluster := range []string{"one", "two"} {
		w.add(inbox, w.fluxEvent(cluster, rollout.Ready))
	}
	w.add(inbox, w.fluxEvent("three", rollout.Failed))
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	d.Close()

	w.closeReports(inbox)
	if err := errors.Join(os.WriteFile(file, []byte(strings.Repeat("damaged", 1000)), 0o600), os.Remove(file+"-wal")); err != nil {
		t.Fatal(err)
	}
	inbox = w.openReports(file)
	defer w.closeReports(inbox)
	d = w.begin(t.TempDir(), func(o *loop.Options) { o.Inbox = inbox })
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=-")
	d.wantNext("stage", promote.Waiting, "reports of clusters were lost: the ledger was damaged, and a new one has begun")
}

// TestTypeFolders: a cluster is on a commit that changes nothing for its type, though it reports the
// one before; one that the commit does change is not.
func TestTypeFolders(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, devAndStage, "dev", "stage")
	inbox, use := w.inbox()
	report := func(cluster, clusterType string) {
		e := w.fluxEvent(cluster, rollout.Ready)
		e.ClusterType = clusterType
		w.add(inbox, e)
	}
	names := map[string]string{w.changeNow(1): "1"}
	d := w.begin(w.data, use)
	d.settle("dev", "stage")
	report("east", "cloud")
	report("shop", "edge")
	report("mine", "no-such-type")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=1")

	names[w.commitNow("main", "for clouds", map[string]string{
		"configs/cloud.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cloud, labels: {platform-config: \"true\", location: cloud}}\ndata: {CLOUD: \"2\"}\n",
	})] = "2"
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=1")
	d.wantNext("stage", promote.Waiting, "1 of 3 clusters ready, 2 on another commit (east, mine)")
	report("east", "cloud")
	report("mine", "no-such-type")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=2 stage=2")
}

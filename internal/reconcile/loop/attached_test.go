package loop_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// TestAttachedClusters: a cluster that an environment provisions is expected to report from when the
// management cluster has applied the folder of its type to it, until it is removed; that something later
// fails does not take it back.
func TestAttachedClusters(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, devAndStage, "dev", "stage")
	m := metrics.New("test")
	known := recorder.Open(t.Context(), recorder.Options{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Now: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler)})
	defer func() { _ = known.Close() }()
	report := func(cluster string, phase ledger.Phase) {
		t.Helper()
		w.now = w.now.Add(time.Minute)
		c := ledger.Contact{Name: cluster, Group: ledger.Group{Environment: "dev"}, Platform: "P", Every: time.Hour, Received: w.now}
		r := ledger.Report{Object: ledger.Object{Name: "Kustomization/flux-system/im-fleet-edge-40-one"}, Phase: phase, Target: "dev@sha1:" + w.head("out", "dev"), Said: w.now}
		if receipt, _ := known.Receive(c, []ledger.Report{r}); receipt.Admission != ledger.Admitted {
			t.Fatal(receipt.Admission)
		}
	}
	d := w.begin(w.data, func(o *loop.Options) {
		o.Metrics, o.Ledger, o.Inbox = m, recorderSince{known, w.now}, known
	})
	want := func(what, count string) {
		t.Helper()
		line := `clusters_by_type{cluster_type="cloud",environment="dev",standing="unheard"} ` + count
		if text := scrapeOf(m); strings.Contains(text, "\nfairlead_fleet_"+line+"\n") == (count == "") {
			t.Errorf("%s: the metrics lack %s:\n%s", what, line, linesWith(text, "fairlead_fleet_clusters_by"))
		}
	}
	w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": fleetManifestText, "clusters/binding.yaml": fleetBindingText, "clusters/settings.yaml": managementText})
	w.changeNow(1)
	d.settle("dev")
	report("management", ledger.Progressing)
	report("stranger", ledger.Ready)
	d.pass(time.Minute)
	if types := known.FindListed("dev"); len(types) > 0 {
		t.Errorf("before it is up, these are expected: %v", types)
	}
	report("management", ledger.Ready)
	d.pass(time.Minute)
	want("it is up", "1")
	w.changeNow(2)
	d.settle("dev")
	report("management", ledger.Failed)
	d.pass(time.Minute)
	want("a later commit fails", "1")
	if types := known.FindListed("dev"); types["one"] != "cloud" || len(types) != 1 {
		t.Errorf("these are expected: %v", types)
	}
	lines := strings.SplitAfter(fleetBindingText, "\n")
	w.commitNow("dev", "detached", map[string]string{"clusters/binding.yaml": strings.Join(append(lines[:6:6], lines[7:]...), "")})
	d.settle("dev")
	if e := d.state("dev"); len(e.Withheld) != 1 || !strings.Contains(e.Withheld[0].Reason, "it removes what runs on cluster one (all of cluster one)") {
		t.Errorf("nobody is asked before all of it is removed: %v", e.Withheld)
	}
	detached := map[string]string{"clusters/binding.yaml": strings.Join(append(lines[:6:6], lines[7:]...), ""), "clusters/broken.yaml": ""}
	w.commitNow("dev", "taken back, with a mistake", map[string]string{"clusters/binding.yaml": fleetBindingText, "clusters/broken.yaml": "kind: [\n"})
	d.settle("dev")
	if pull := w.open("dev"); !publish.IsStopped(pull.Body) || !strings.Contains(pull.Body, "dev/clusters/broken.yaml:1") || !strings.Contains(pull.Title, "DETACH") {
		t.Errorf("problems stop dev, and what removes all of cluster one does not say so:\n%s\n%s", pull.Title, pull.Body)
	}
	if e, pull := d.state("dev"), w.open("dev"); e.Pull != nil || e.StalePull == nil || e.StalePull.Number != pull.Number || e.ShownPull() != e.StalePull || d.stage("dev").StalePull == nil {
		t.Errorf("while problems stop dev, its open pull request %d is reported as %+v", pull.Number, e.StalePull)
	}
	w.commitNow("dev", "detached again", detached)
	d.settle("dev")
	if pull := w.open("dev"); publish.IsStopped(pull.Body) || !strings.Contains(pull.Title, "DETACH") {
		t.Errorf("it is mended, and the pull request is\n%s\n%s", pull.Title, pull.Body)
	}
	if e := d.state("dev"); e.Pull == nil || e.StalePull != nil {
		t.Errorf("it is mended, and dev has %+v", e.StalePull)
	}
	w.merge("dev")
	d.settle("dev")
	if types := known.FindListed("dev"); len(types) > 0 {
		t.Errorf("detached, it is expected still: %v", types)
	}
}

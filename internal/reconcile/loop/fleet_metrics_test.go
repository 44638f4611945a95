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
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// recorderSince is a ledger that has listened since a time.
type recorderSince struct {
	*recorder.Recorder
	since time.Time
}

func (r recorderSince) Since() time.Time { return r.since }

// TestFleetMetrics: the clusters of an environment are counted by how they stand to its newest output,
// after each round: also when they fall silent, of which nothing tells.
func TestFleetMetrics(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, devAndStage, "dev", "stage")
	m := metrics.New("test")
	known := recorder.Open(t.Context(), recorder.Options{
		Path: filepath.Join(t.TempDir(), "ledger.db"), Now: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler)})
	defer func() { _ = known.Close() }()
	report := func(cluster, clusterType string, phase ledger.Phase) {
		t.Helper()
		c := ledger.Contact{Name: cluster, Group: ledger.Group{Environment: "dev", ClusterType: clusterType}, Platform: "P", Every: time.Hour, Received: w.now}
		r := ledger.Report{Object: ledger.Object{Name: "P"}, Phase: phase, Target: "dev@sha1:" + w.head("out", "dev"), Said: w.now}
		if receipt, _ := known.Receive(c, []ledger.Report{r}); receipt.Admission != ledger.Admitted {
			t.Fatal(receipt.Admission)
		}
	}
	d := w.begin(w.data, func(o *loop.Options) { o.Metrics, o.Ledger = m, recorderSince{known, w.now} })
	want := func(what string, lines ...string) {
		t.Helper()
		text := scrapeOf(m)
		for _, line := range lines {
			if !strings.Contains(text, "\nfairlead_fleet_"+line+"\n") {
				t.Errorf("%s: the metrics lack %s:\n%s", what, line, linesWith(text, "fairlead_fleet_"))
			}
		}
	}
	w.changeNow(1)
	d.settle("dev")
	want("no cluster is known", `clusters{environment="dev",standing="ready"} 0`)
	report("east", "cloud", ledger.Ready)
	report("shop", "edge", ledger.Ready)
	d.pass(time.Minute)
	want("all ready", `clusters{environment="dev",standing="ready"} 2`, `clusters_by_type{cluster_type="edge",environment="dev",standing="ready"} 1`,
		`rollout_percent{environment="dev"} 100`, `rollout_age_seconds{environment="dev"} 0`)

	w.commitNow("main", "for clouds", map[string]string{
		"configs/cloud.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cloud, labels: {platform-config: \"true\", location: cloud}}\ndata: {CLOUD: \"2\"}\n",
	})
	d.settle("dev")
	want("only one type has something new", `clusters{environment="dev",standing="behind"} 1`, `clusters{environment="dev",standing="ready"} 1`, `rollout_percent{environment="dev"} 50`)
	if strings.Contains(scrapeOf(m), `rollout_age_seconds{environment="dev"} 0`) {
		t.Error("a rollout that has not ended has no age")
	}
	report("east", "cloud", ledger.Failed)
	d.pass(time.Minute)
	want("a cluster fails", `clusters{environment="dev",standing="failed"} 1`, `clusters_by_type{cluster_type="cloud",environment="dev",standing="failed"} 1`)
	d.pass(4 * time.Hour)
	want("all are silent", `clusters{environment="dev",standing="silent"} 2`, `clusters{environment="dev",standing="failed"} 0`, `rollout_percent{environment="dev"} 0`)
	w.commitNow("dev", "the clusters", map[string]string{"clusters.yaml": own("ClusterList", "east", "{clusters: [{name: ghost, type: cloud}, {name: east, type: cloud}]}")})
	d.settle("dev")
	want("one is listed that was never in touch", `clusters{environment="dev",standing="unheard"} 1`, `clusters_by_type{cluster_type="cloud",environment="dev",standing="unheard"} 1`)
}

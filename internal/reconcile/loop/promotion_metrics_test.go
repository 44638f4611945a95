package loop_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
)

// TestPromotionMetrics: the figures follow a commit through two environments: how long it
// took to be verified, who lacks it and since when, and what it waits for.
func TestPromotionMetrics(t *testing.T) {
	w := fleetOf(t, scaffold.Branches, "    - {name: dev, merge: direct, proof: []}\n    - {name: stage, after: [dev], merge: direct, gates: [{status: {contexts: [ci/smoke], of: base}}]}\n", "dev", "stage")
	m := metrics.New("test")
	first := w.changeNow(1)
	names := map[string]string{first: "1"}
	d := w.begin(w.data, func(o *loop.Options) { o.Metrics = m })
	want := func(lines ...string) {
		t.Helper()
		text := scrapeOf(m)
		for _, line := range lines {
			if !strings.Contains(text, "\nfairlead_promotion_"+line+"\n") {
				t.Errorf("the metrics lack %s:\n%s", line, linesWith(text, "fairlead_promotion_"))
			}
		}
	}
	d.settle("dev", "stage")
	want(`verified{environment="dev"} 1`, `lead_time_seconds_count{environment="dev"} 1`, `verified{environment="stage"} 0`,
		`waiting{environment="stage",gate="status"} 1`, `held{environment="stage"} 0`)

	if err := w.plain("cp").SetStatus(t.Context(), first, forge.Status{Context: "ci/smoke", Outcome: forge.Success}); err != nil {
		t.Fatal(err)
	}
	d.settle("dev", "stage")
	w.says("stage", "kustomization/apps/1", forge.Success, "ready")
	d.settle("dev", "stage")
	w.wantLine(names, "dev=1 stage=1")
	want(`verified{environment="stage"} 1`, `lead_time_seconds_count{environment="stage"} 1`, `behind_commits{environment="stage"} 0`,
		`waiting{environment="stage",gate="status"} 0`, `waiting_since_timestamp_seconds{environment="stage"} 0`)

	// A hold and a freeze, and a commit that waits; a process that remembers nothing
	// counts no commit twice.
	w.commitNow("stage", "hold", map[string]string{".fairlead/hold.yaml": own("Hold", "hold", "{reason: the load test}")})
	w.commitNow("main", "freeze", map[string]string{".fairlead/freezes/q4.yaml": own("Freeze", "q4", "{reason: the books, environments: [stage]}")})
	d.pass(time.Hour)
	w.changeNow(2)
	m = metrics.New("test")
	again := w.begin(w.data+"-again", func(o *loop.Options) { o.Metrics = m })
	again.settle("dev", "stage")
	want(`held{environment="stage"} 1`, `frozen{environment="stage"} 1`, `frozen{environment="dev"} 0`, `behind_commits{environment="stage"} 1`,
		`lead_time_seconds_count{environment="dev"} 1`)
	if strings.Contains(scrapeOf(m), `waiting_since_timestamp_seconds{environment="stage"} 0`) || strings.Contains(scrapeOf(m), `lead_time_seconds_count{environment="stage"}`) {
		t.Errorf("stage waits for nothing, or what was counted is counted again:\n%s", linesWith(scrapeOf(m), "fairlead_promotion_"))
	}
}

func scrapeOf(m *metrics.Metrics) string {
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// linesWith gives the lines that begin with a text.
func linesWith(text, start string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, start) {
			all.WriteString(line)
		}
	}
	return all.String()
}

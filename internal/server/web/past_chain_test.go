package web

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// chainThen is how far the commits of chain had been promoted at a time, with a stage in each state that Git knows.
func chainThen(at time.Time) status.Chain {
	c := status.Chain{FromGit: true, Head: c3, Checked: at, Inferred: "the order of the files in .environments"}
	for _, one := range chain().Commits {
		if !one.When.After(at) {
			c.Commits = append(c.Commits, one)
		}
	}
	hour := func(n int) time.Time { return noon.Add(-time.Duration(n) * time.Hour) }
	c.Stages = []status.Stage{
		{Environment: "dev", Commit: c3, Since: hour(13), State: status.StageProposed, Turns: []status.Turn{{Commit: c3, From: c2, When: hour(13)}, {Commit: c2, From: c1, When: hour(25)}}},
		{Environment: "test", After: []string{"dev"}, Commit: c2, Since: hour(24), Behind: 1, Merged: true, State: status.StagePromoted, Frozen: "freeze q4: a sale", Turns: []status.Turn{{Commit: c2, From: c1, When: hour(24), Who: "bob", Forced: "<it burns>"}}},
		{Environment: "stage", After: []string{"test"}, Commit: c1, Since: hour(20), Behind: 2, Merged: true, State: status.StagePromoted, Hold: "incident <7> (by bob@example.com, until fairlead release stage)", HeldThen: "incident <7> (by bob@example.com)",
			Turns: []status.Turn{{Commit: c1, From: c2, RolledBack: true, When: hour(20), Who: "bob", Reason: "it fails"}, {Commit: c2, From: c1, When: hour(23)}}},
		{Environment: "west", After: []string{"stage"}, Commit: c1, Since: hour(30), Behind: 2, Merged: true, State: status.StagePromoted},
		{Environment: "prod", After: []string{"stage"}, State: status.StageStopped},
		{Environment: "edge", After: []string{"prod"}, State: status.StageEmpty},
	}
	return c
}

// pastPagesOf returns the addresses of pages about a moment.
func pastPagesOf(at string) []string {
	return []string{"/?at=" + at, "/commits?at=" + at, "/commits/" + c2 + "?at=" + at, "/history?at=" + at, "/environments?at=" + at, "/environments/prod?at=" + at, "/fleet?at=" + at, "/assignments/dev/large/checkout?at=" + at, "/cluster-types?at=" + at}
}

// TestPastChain: the overview, the commits, a commit and the history show what Git has of a time: what environments had,
// which were held, and nothing of what came later; there are no actions, and links lead to the same time.
func TestPastChain(t *testing.T) {
	h := openPast()
	for _, c := range []struct{ target, file string }{
		{"/?at=2026-11-20", "overview"}, {"/commits?at=2026-11-20", "commits"}, {"/commits/" + c2 + "?at=2026-11-20", "commit"}, {"/history?env=prod&at=2026-11-21T10:30:00Z", "history"},
	} {
		w := ask(h, http.MethodGet, c.target)
		golden(t, "testdata/past/"+c.file+".html", mainOf(w.Body.String()))
		if strings.Contains(w.Body.String(), "data-page=\"/") || w.Code != http.StatusOK || strings.Contains(mainOf(w.Body.String()), "levers/") {
			t.Errorf("%s is %d, follows the state, or has actions", c.target, w.Code)
		}
		checkMarkup(t, c.target, w.Body.String())
	}
	for target, want := range map[string]string{
		"/?at=2026-11-20":                   "at 2026-11-20\nENVIRONMENT  STATE     COMMIT   SINCE                 RAN  SUBJECT     WHY\ndev          proposed  c3d3e3f ",
		"/commits?at=2026-11-20":            "at 2026-11-20\nCOMMIT   AGE  AUTHOR     DEV        TEST       STAGE      WEST    PROD       EDGE  SUBJECT\nc3d3e3f  13h  alice <i>  proposed   -          -          -       not known  -     Change <3>\nc2d2e2f  26h  alice <i>  runs       has it     gone back  -       not known  -",
		"/commits/" + c2 + "?at=2026-11-20": "stage        back     gone back",
		"/history?at=2026-11-20T10:00:00Z":  "at 2026-11-20T10:00:00Z\n",
		"/commits/" + c4 + "?at=2026-11-20": "is not among the newest that the base had then",
		"/?at=2020-01-01":                   "the control plane had no commit",
		"/history?at=2020-01-01":            "nothing was done until 2020-01-01",
		"/fleet?at=2026-11-20":              "at 2026-11-20\nWORKLOAD",
		"/workloads/checkout?at=2026-11-20": "at 2026-11-20\n",
		"/cluster-types?at=2026-11-20":      "at 2026-11-20\nCLUSTER TYPE",
		"/map?env=dev&at=2026-11-20":        "at 2026-11-20\ndev: ",
		"/map?at=2026-11-20&env=dev":        "/fleet?rows=target&cols=clusterType&env=dev&at=2026-11-20 has them as a table",
		"/environments?at=2026-11-20":       "dev: c2d2e2f did not change the output, which was merged before",
		"/environments/dev?at=2026-11-20":   "output c1d1e1f of 2026-11-19T12:00:00Z, which c2d2e2f Change <2> did not change",
	} {
		if got := askText(h, target).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q:\n%s", target, want, got)
		}
	}
	for target, want := range map[string]string{
		"/?at=c1d1e1": "./?at=2026-11-20T12%3A00%3A00Z", "/commits?q=x&at=c1d1e1": "./commits?at=2026-11-20T12%3A00%3A00Z&q=x", "/history?at=c1d1e1": "./history?at=2026-11-20T12%3A00%3A00Z",
		api + "/overview?at=c1d1e1": "./../../api/v1/overview?at=2026-11-20T12%3A00%3A00Z", "/commits/c2d2e?at=2026-11-20": "./../commits/" + c2 + "?at=2026-11-20", "/history.csv?at=c1d1e1": "./history.csv?at=2026-11-20T12%3A00%3A00Z",
		"/commits/c2d2e.svg?at=2026-11-20": "./../commits/" + c2 + ".svg?at=2026-11-20",
	} {
		if w := ask(h, http.MethodGet, target); w.Code != http.StatusFound || w.Header().Get("Location") != want {
			t.Errorf("%s leads to %q, %d, want %q", target, w.Header().Get("Location"), w.Code, want)
		}
	}
	if got := ask(h, http.MethodGet, "/commits/"+c2+".svg?env=stage&at=2026-11-20").Body.String(); !strings.Contains(got, "gone back") {
		t.Errorf("the badge of then is\n%s", got)
	}
	for _, target := range []string{"/waiting", "/settings", "/problems", "/health", "/search", "/history/figures", "/stacks"} {
		w := ask(h, http.MethodGet, target+"?at=2026-11-20")
		if body := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(body, "This page shows the present alone.") || !strings.Contains(body, "As it is now") {
			t.Errorf("%s is %d, and does not say that it has no past:\n%s", target, w.Code, mainOf(body))
		}
	}
}

// TestPastChainRuns: the overview of a time has what clusters had reported then, as the page of an environment has it,
// says once what is not known, and calls a commit ready only if clusters had reported the output of that.
func TestPastChainRuns(t *testing.T) {
	w, store := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db")), fleet()
	for output, want := range map[string]string{strings.Repeat("a", 40): "ready", strings.Repeat("b", 40): "unknown"} {
		past := pastOf(store)
		chainOf := past.Chain
		past.Chain = func(ctx context.Context, at time.Time) (status.Chain, []history.Output, error) {
			c, outputs, err := chainOf(ctx, at)
			outputs[2].Commit = output
			return c, outputs, err
		}
		h := New(Options{Store: store, Fleet: w.View, Now: func() time.Time { return ledgerworld.Now }, Explain: explainNothing, Compare: compareNothing, Past: past})
		at := "?at=" + ledgerworld.Now.UTC().Format(time.RFC3339)
		var overview answer.PastOverview
		var one answer.PastEnvironment
		for target, into := range map[string]any{"/overview" + at: &overview, "/environments/stage" + at: &one} {
			if err := json.Unmarshal(ask(h, http.MethodGet, api+target).Body.Bytes(), into); err != nil {
				t.Fatal(err)
			}
		}
		stage := overview.Environments[2]
		if len(stage.Ran) != 1 || len(one.Runs) != 1 || stage.Ran[0] != one.Runs[0] || stage.CommitState.Word != want || stage.State.Word != "held" || overview.NoRuns() {
			t.Errorf("the overview has %+v, and the environment %+v; want %s", stage, one.Runs, want)
		}
		if body := ask(h, http.MethodGet, "/"+at).Body.String(); strings.Contains(body, "is not known: the ledger") || !strings.Contains(body, "1 cluster with") {
			t.Errorf("the overview says\n%s", mainOf(body))
		}
		if body := mainOf(ask(h, http.MethodGet, "/commits"+at).Body.String()); strings.Contains(body, "ready</span>") != (want == "ready") || strings.Contains(body, "What clusters ran then is not shown") {
			t.Errorf("the commits say\n%s", body)
		}
		if body := ask(h, http.MethodGet, "/?at=2026-11-20").Body.String(); strings.Count(body, "What clusters ran then is not known: the ledger has kept nothing of then.") != 1 {
			t.Errorf("where the ledger has nothing it says\n%s", mainOf(body))
		}
	}
}

package web

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// pastOf answers about the past by what is there now.
func pastOf(store *status.Store) *Past {
	output := func(p history.Place) history.Output {
		merged := noon.Add(-24 * time.Hour)
		if p.Environment == "dev" { // of before the commit was made, which did not change it
			merged = noon.Add(-48 * time.Hour)
		}
		return history.Output{Place: p, Commit: c1, When: merged, Base: c2, Inputs: []publish.Input{{Layer: "base", Repo: "https://git.example.com/org/control-plane", Commit: c2}}}
	}
	return &Past{
		Explain: func(ctx context.Context, environment string, at history.Moment, query string) (explain.Document, history.Output, error) {
			document, err := explainNothing(ctx, environment, query)
			return document, output(history.Place{Environment: environment, At: at}), err
		},
		Compare: func(ctx context.Context, from, to history.Place) (drift.Report, []history.Output, error) {
			report, err := compareNothing(ctx, from.String(), to.String())
			return report, []history.Output{output(from)}, err
		},
		Changes: func(_ context.Context, environment string, from, to history.Moment) (impact.Report, []history.Output, error) {
			past, err := pastPulls(context.Background(), environment, 7)
			return past.Report, []history.Output{output(history.Place{Environment: environment, At: from}), output(history.Place{Environment: environment, At: to})}, err
		},
		Chain: func(_ context.Context, at time.Time) (status.Chain, []history.Output, error) {
			if at.Before(noon.AddDate(-1, 0, 0)) {
				return status.Chain{}, nil, &explain.QueryError{Summary: "the control plane had no commit", Hint: "ask about a later moment"}
			}
			return chainThen(at), []history.Output{output(history.Place{Environment: "dev"}), output(history.Place{Environment: "test"}), output(history.Place{Environment: "stage"}), {Place: history.Place{Environment: "prod"}}}, nil
		},
		Time: func(_ context.Context, at history.Moment) (time.Time, error) {
			if !strings.HasPrefix(c1, at.Commit) {
				return time.Time{}, &explain.QueryError{Summary: "there is no such commit", Hint: "ask for another"}
			}
			return noon.Add(-24 * time.Hour), nil
		},
		Plan: func(_ context.Context, environment string, at history.Moment) (*schedule.Plan, history.Output, error) {
			plan := store.Snapshot().Plans[environment]
			if plan == nil || !at.Time.IsZero() && at.Time.Before(noon.AddDate(-1, 0, 0)) {
				return nil, history.Output{}, &explain.QueryError{Summary: environment + " was not there", Hint: "ask about a later moment"}
			}
			return plan, output(history.Place{Environment: environment, At: at}), nil
		},
	}
}

func openPast() http.Handler {
	store := fleet()
	return New(Options{Store: store, Now: func() time.Time { return noon }, Explain: explainNothing, Compare: compareNothing, History: pastActions, Past: pastOf(store)})
}

// TestPast: pages of the past say so, explain with the commits of then, and have no actions; a page without a past
// says that it shows the present alone, and a moment that is none is refused.
func TestPast(t *testing.T) {
	h := openPast()
	for _, c := range []struct{ target, file string }{
		{"/explain?env=dev&q=large/web&at=2026-11-20", "explain"}, {"/diff?from=prod@2026-11-20&to=prod", "diff"}, {"/assignments/dev/large/checkout?at=2026-11-20T10:00:00Z", "assignment"},
		{"/fleet?at=" + c1, "fleet"}, {"/environments/prod?at=2026-11-20", "environment"}, {"/environments?at=2026-11-20", "environments"},
		{"/environments/prod/changes/2026-11-20..", "changes"},
	} {
		w := ask(h, http.MethodGet, c.target)
		golden(t, "testdata/past/"+c.file+".html", mainOf(w.Body.String()))
		if strings.Contains(w.Body.String(), "data-page=\"/") || w.Code != http.StatusOK {
			t.Errorf("%s is %d, or follows the state", c.target, w.Code)
		}
	}
	for target, want := range map[string]struct {
		code int
		says string
	}{
		"/explain?env=dev&q=x&at=noon":                    {400, "the moment is no time and no commit"},
		"/explain?env=dev&q=x&at=2099-01-01":              {400, "the moment is still to come"},
		"/explain?env=dve&q=x&at=2026-11-20":              {404, "there is no environment"},
		"/explain?env=dev&q=nothing&at=2026-11-20":        {404, "is not in dev"},
		"/diff?from=prod@2026-11-20":                      {400, "the query does not say what to compare"},
		"/diff?from=prod@%3Cscript%3E&to=prod":            {400, "the moment is no time and no commit"},
		"/workloads/checkout?at=2026-11-20":               {200, `"checkout"`},
		"/assignments/later/large/checkout?at=2026-11-20": {404, "has no cluster type \\\"large\\\" and no deployment target"},
		"/?at=2026-11-20":                                 {200, `"needs": [`},
		"/environments?at=2026-11-20&q=zzz":               {200, `"items": []`},
		"/environments?at=2020-01-01":                     {200, `"unknown": [`},
		"/fleet?at=2020-01-01":                            {404, "nothing is known of any environment at 2020-01-01"},
		"/environments?at=2026-11-20&state=bad":           {400, "have no state"},
		"/environments/prod?at=2026-11-20":                {200, `"assignments": `},
		"/environments/prod/pulls/7?at=2026-11-20":        {400, "this page shows the present alone"},
		"/environments/pord?at=2026-11-20":                {404, "there is no environment"},
		"/environments/prod/changes/2026-11-20..c1d1e1":   {200, `"at": "c1d1e1"`},
		"/environments/prod/changes/2026-11-20..never":    {400, "the moment is no time and no commit"},
		"/environments/prod/changes/..2026-11-20":         {400, "the address names no moment"},
		"/environments/pord/changes/2026-11-20..":         {404, "there is no environment"},
		"/history?at=2026-11-20":                          {200, `"at": "2026-11-20"`},
		"/commits?at=2026-11-20":                          {200, `"at": "2026-11-20"`},
		"/commits?at=never":                               {400, "the moment is no time and no commit"},
		"/?at=abcdabcd":                                   {404, "there is no such commit"},
		"/commits/" + c4 + "?at=2026-11-20":               {404, "that the base had then"},
		"/map?env=dev&at=2026-11-20":                      {200, `"clusterTypes": [`},
		"/map?env=dev&pull=7&at=2026-11-20":               {404, "has no open pull request"},
	} {
		path := target
		if strings.HasPrefix(target, "/?") {
			path = "/overview" + target[1:]
		}
		w := ask(h, http.MethodGet, api+path)
		if w.Code != want.code || !strings.Contains(w.Body.String(), want.says) {
			t.Errorf("%s is %d, want %d with %q: %s", target, w.Code, want.code, want.says, w.Body)
		}
		if shown := ask(h, http.MethodGet, target); shown.Code != want.code && target != "/diff?from=prod@2026-11-20" && want.code != http.StatusBadRequest {
			t.Errorf("the page %s is %d, want %d", target, shown.Code, want.code)
		}
	}
	if body := ask(h, http.MethodGet, "/environments/prod").Body.String(); !strings.Contains(body, `action="../environments/prod">`) || !strings.Contains(body, `name="at"`) {
		t.Errorf("the page of an environment does not lead to its past:\n%s", body)
	}
	point := ask(h, http.MethodGet, "/map?env=prod&at=2026-11-20&at.x=1&at.y=1")
	if got := point.Header().Get("Location"); got != "./assignments/prod/large/checkout?at=2026-11-20" {
		t.Errorf("a point of the map of the past leads to %q", got)
	}
	if body := ask(h, http.MethodGet, "/map?env=prod&at=2026-11-20").Body.String(); !strings.Contains(body, `src="./map.png?env=prod&amp;at=2026-11-20"`) {
		t.Errorf("the map of the past has no picture of then:\n%s", body)
	}
	for target, want := range map[string]int{"/map.png?env=prod&at=2026-11-20": 200, "/map.png?env=prod&at=never": 404} {
		if w := ask(h, http.MethodGet, target); w.Code != want {
			t.Errorf("%s is %d, want %d", target, w.Code, want)
		}
	}
	if body := ask(h, http.MethodGet, "/environments/prod?at=2026-11-20").Body.String(); !strings.Contains(body, ") prod: at 2026-11-20 · Fairlead</title>") {
		t.Errorf("the title of an environment in the past does not say the moment once:\n%s", body)
	}
	if body := ask(h, http.MethodGet, "/environments").Body.String(); !strings.Contains(body, `action="./environments"><label><span>A day, a time or a commit`) {
		t.Errorf("the page of environments does not lead to its past:\n%s", mainOf(body))
	}
	if w := ask(open(fleet()), http.MethodGet, "/api/v1/explain?env=dev&q=x&at=2026-11-20"); w.Code != http.StatusBadRequest {
		t.Errorf("without a past it is %d", w.Code)
	}
}

// TestPastRuns: pages of the past say what clusters had reported at a time, also those that report of nothing but what
// applies their output, as the command does; and not of a commit, of which no time is known.
func TestPastRuns(t *testing.T) {
	w, store := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db")), fleet()
	w.AddPlatform("dev", "large", "dev-1")
	h := New(Options{Store: store, Fleet: w.View, Now: func() time.Time { return ledgerworld.Now }, Explain: explainNothing, Compare: compareNothing, Past: pastOf(store)})
	at := "?at=" + ledgerworld.Now.UTC().Format(time.RFC3339)
	golden(t, "testdata/past/environment-ran.html", mainOf(ask(h, http.MethodGet, "/environments/prod"+at).Body.String()))
	golden(t, "testdata/past/environments-ran.html", mainOf(ask(h, http.MethodGet, "/environments"+at).Body.String()))
	golden(t, "testdata/past/assignment-ran.html", mainOf(ask(h, http.MethodGet, "/assignments/prod/large/checkout"+at).Body.String()))
	for target, want := range map[string]string{
		"/environments/dev" + at: "1         ready  aaaaaaa", "/assignments/dev/large/checkout" + at: "what applies their output: 1 ready with aaaaaaa", "/cluster-types" + at + "&q=large": "large         9 ",
		"/cluster-types?q=large&at=" + c1: "large         - ", "/environments/dev?at=2026-11-01": "what ran is not known", "/api/v1/fleet/where?workload=platform&environment=dev&at=" + at[4:]: strings.Repeat("a", 40),
	} {
		if got := askText(h, target).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q:\n%s", target, want, got)
		}
	}
	for target, want := range map[string]string{"/environments/prod?at=" + c1: "What ran is known of times, not of commits.", "/environments?at=" + c1: "and not of commits"} {
		if body := ask(h, http.MethodGet, target).Body.String(); !strings.Contains(body, want) {
			t.Errorf("of a commit it says\n%s", body)
		}
	}
}

// TestPastWork: no more is rendered at once than may be, others wait with a page that loads again by itself, and what
// was made is not made twice.
func TestPastWork(t *testing.T) {
	var work pastWork
	var made atomic.Int32
	release := make(chan struct{})
	slow := func() found { made.Add(1); <-release; return newFound("answer") }
	for _, key := range []string{"a", "b", "c", "a"} {
		if f, isThere := work.find(key, time.Millisecond, slow); isThere {
			t.Errorf("%s is there: %v", key, f)
		}
	}
	close(release)
	for _, key := range []string{"a", "b"} {
		if f, isThere := work.find(key, time.Minute, slow); !isThere || f.answer != "answer" {
			t.Errorf("%s is %v, %v", key, f, isThere)
		}
	}
	if made.Load() != maxPastWork {
		t.Errorf("%d were made at once", made.Load())
	}
	again := func() found { made.Add(1); return found{answer: "busy", code: http.StatusServiceUnavailable} }
	for range 2 {
		for isThere := false; !isThere; {
			_, isThere = work.find("d", time.Minute, again)
		}
	}
	if made.Load() != maxPastWork+2 {
		t.Errorf("what failed is made %d times", made.Load()-maxPastWork)
	}
}

// TestPastWaits: an answer that is not made yet is 202, with a page that loads again without script, and is not kept.
func TestPastWaits(t *testing.T) {
	store, release := fleet(), make(chan struct{})
	past := pastOf(store)
	explainPast := past.Explain
	past.Explain = func(ctx context.Context, environment string, at history.Moment, query string) (explain.Document, history.Output, error) {
		<-release
		return explainPast(ctx, environment, at, query)
	}
	s := newSite(Options{Store: store, Now: func() time.Time { return noon }, Explain: explainNothing, Compare: compareNothing, Past: past})
	s.options.PastPatience = time.Millisecond
	target := "/explain?env=dev&q=large/web&at=2026-11-20"
	w := ask(http.HandlerFunc(s.servePage), http.MethodGet, target)
	if w.Code != http.StatusAccepted || w.Header().Get("Retry-After") != "3" || !strings.Contains(w.Body.String(), `<meta http-equiv="refresh" content="3">`) {
		t.Errorf("it is %d: %s", w.Code, w.Body)
	}
	close(release)
	s.options.PastPatience = time.Minute
	if w := ask(http.HandlerFunc(s.servePage), http.MethodGet, target); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "You look at the past") {
		t.Errorf("then it is %d: %s", w.Code, w.Body)
	}
}

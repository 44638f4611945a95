package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// simulateNothing answers by the name of the revision.
func simulateNothing(_ context.Context, revision string) ([]promote.Arrival, error) {
	switch revision {
	case "main", c4:
		return []promote.Arrival{{Environment: "dev", State: promote.ArrivalHas, Time: noon, Reason: "it has c4"},
			{Environment: "stage", State: promote.ArrivalWaits, Lanes: []string{"shop"}, WaitsFor: []promote.ArrivalWait{{Environment: "stage", What: "2 approvals"}}, Delays: []promote.ArrivalWait{{Environment: "stage", What: "gate window until Mon 2026-11-30 09:00 UTC"}}, NotBefore: noon.Add(time.Hour), With: c4, Reason: "it waits for stage: 2 approvals"}}, nil
	case "empty":
		return nil, nil
	case "nowhere":
		return nil, fmt.Errorf("simulate: %w", new(promoter.UnknownCommitError))
	case "circle":
		return nil, &promoter.BlockedError{Problems: problem.List{{Pos: problem.Pos{Layer: "base", File: "p.yaml", Line: 1}, Subject: "Promotion/fleet", Summary: "it is circular", Hint: "cut it"}}}
	}
	return nil, errors.New("the forge is down")
}

// simulating is a daemon that has done a cycle, and simulates.
func simulating(at *time.Time) http.Handler {
	store := &status.Store{}
	store.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK})
	return New(Options{Store: store, Now: func() time.Time { return *at }, Simulate: simulateNothing})
}

// explainLanes knows the lanes of stage. With others, problems stop all.
func explainLanes(_ context.Context, environment string, lanes *model.Lanes) (*lane.Report, error) {
	switch {
	case lanes != nil:
		return nil, &promoter.BlockedError{Problems: problem.List{{Subject: lanes.Each, Summary: "it has a template"}}}
	case environment != "stage":
		return nil, nil
	}
	why := lane.Reason{Kind: lane.Context, Commit: c3, Lane: "platform", Environment: "test", Folder: "large/shop-web", Text: "text"}
	return &lane.Report{
		Environment: environment, Commits: []lane.Commit{{ID: c4, Lanes: []string{"shop"}}},
		Decisions: []lane.Decision{{Lane: "shop", State: lane.Waits, Current: c2, Candidate: c4, With: []string{"till"}, Waiting: 2, Reason: why}},
	}, nil
}

// TestSimulate: what a simulation answers, and what it refuses.
func TestSimulate(t *testing.T) {
	for _, c := range []struct {
		name, target string
		code         int
		body         string // a part of it
	}{
		{"a commit", "?commit=main", 200, `"waits": [` + "\n" + `      "stage: 2 approvals"`},
		{"no environments", "?commit=empty", 200, "[]\n"},
		{"no commit", "", 400, "the query names no commit"},
		{"a long one", "?commit=" + strings.Repeat("a", 257), 400, "the query names no commit"},
		{"an unknown one", "?commit=nowhere", 400, `"error"`},
		{"problems", "?commit=circle", 409, `"summary": "it is circular"`},
		{"a forge that does not answer", "?commit=main~1", 503, "the simulation failed: the forge is down"},
	} {
		at := noon
		w := ask(simulating(&at), http.MethodGet, "/api/v1/simulate"+c.target)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) || (w.Code == 503) != (w.Header().Get("Retry-After") == "60") {
			t.Errorf("%s: %d, want %d\n%v\n%s", c.name, w.Code, c.code, w.Header(), w.Body)
		}
	}
	unread := New(Options{Simulate: simulateNothing})
	if w := ask(unread, http.MethodGet, "/api/v1/simulate?commit=main"); w.Code != 503 || !strings.Contains(w.Body.String(), "the first cycle has not ended yet") {
		t.Errorf("before the first cycle: %d %s", w.Code, w.Body)
	}
	if w := ask(open(&status.Store{}), http.MethodGet, "/api/v1/simulate?commit=main"); w.Code != 404 {
		t.Errorf("without simulation: %d %s", w.Code, w.Body)
	}
}

// TestForecast: the page of a commit leads to its forecast, which names what it waits for; it says why there is
// none, and no more begin within a minute than the loop bears.
func TestForecast(t *testing.T) {
	at := noon
	h := New(Options{Store: fleet(), Now: func() time.Time { return at }, Simulate: simulateNothing})
	if body := ask(h, http.MethodGet, "/commits/"+c4).Body.String(); !strings.Contains(body, `<a href="../commits/`+c4+`/forecast">`) {
		t.Errorf("the page of the commit does not lead to its forecast:\n%s", mainOf(body))
	}
	golden(t, "testdata/forecast.html", mainOf(ask(h, http.MethodGet, "/commits/"+c4+"/forecast").Body.String()))
	unrendered := New(Options{Store: hosted(), Now: func() time.Time { return at }, Simulate: func(context.Context, string) ([]promote.Arrival, error) {
		return []promote.Arrival{{Environment: "prod", State: promote.ArrivalHas, Reason: "it has c4"}}, nil
	}})
	address := "/commits/" + strings.Repeat("c5", 20) + "/forecast"
	for _, body := range []string{ask(unrendered, http.MethodGet, address).Body.String(), askText(unrendered, address).Body.String()} {
		if !strings.Contains(body, "changes nothing that is rendered") || strings.Contains(body, "it has c4") {
			t.Errorf("the forecast of a commit that no environment gets is\n%s", mainOf(body))
		}
	}
	if w := ask(h, http.MethodGet, "/commits/"+c2+"/forecast"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the forge is down") {
		t.Errorf("where the forge is down it is %d\n%s", w.Code, mainOf(w.Body.String()))
	}
	for i := range 2 * maxSimulations {
		at = noon.Add(time.Duration(i+11) * time.Second / 100)
		code, want := ask(h, http.MethodGet, "/api/v1/commits/"+c4+"/forecast").Code, http.StatusOK
		if i >= maxSimulations-2 {
			want = http.StatusTooManyRequests
		}
		if code != want {
			t.Errorf("the forecast %d is %d, want %d", i, code, want)
		}
	}
	if body := ask(open(fleet()), http.MethodGet, "/commits/"+c4).Body.String(); strings.Contains(body, "Forecast") {
		t.Errorf("without forecasts the page leads to one:\n%s", mainOf(body))
	}
}

// TestSimulationsAreBounded: more than twelve within a minute are told when the next one may begin.
func TestSimulationsAreBounded(t *testing.T) {
	at := noon
	h := simulating(&at)
	for i := range maxSimulations {
		at = noon.Add(time.Duration(i) * time.Second)
		if w := ask(h, http.MethodGet, "/api/v1/simulate?commit=main"); w.Code != 200 {
			t.Fatalf("%d: %d %s", i, w.Code, w.Body)
		}
	}
	at = noon.Add(20 * time.Second)
	if w := ask(h, http.MethodGet, "/api/v1/simulate?commit=main"); w.Code != 429 || w.Header().Get("Retry-After") != "40" || !strings.Contains(w.Body.String(), "try again in 40 s") {
		t.Errorf("the next one: %d %v %s", w.Code, w.Header(), w.Body)
	}
	at = noon.Add(time.Minute)
	if w := ask(h, http.MethodGet, "/api/v1/simulate?commit=main"); w.Code != 200 {
		t.Errorf("a minute later: %d %s", w.Code, w.Body)
	}
	if w := ask(h, http.MethodGet, "/api/v1/simulate?commit=main"); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("one more: %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// TestSimulationEnds: one that waits for a long cycle is answered before the client gives up.
func TestSimulationEnds(t *testing.T) {
	store := &status.Store{}
	store.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK})
	h := New(Options{Store: store, Simulate: func(ctx context.Context, _ string) ([]promote.Arrival, error) {
		if until, ok := ctx.Deadline(); !ok || time.Until(until) > simulationTimeout {
			t.Errorf("it may last until %s", until)
		}
		return nil, context.DeadlineExceeded
	}})
	if w := ask(h, http.MethodGet, "/api/v1/simulate?commit=main"); w.Code != 503 || !strings.Contains(w.Body.String(), "a cycle runs") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

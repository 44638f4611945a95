package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// fleetQuestion is a request about the fleet, and the code that it is answered with.
type fleetQuestion struct {
	to              http.Handler
	question, query string
	tag             string // of If-None-Match
	code            int
}

// fleetQuestionsOf have all answers that there are.
func fleetQuestionsOf(t *testing.T) []fleetQuestion {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	full := New(Options{Fleet: w.View})
	away := New(Options{Fleet: &fleetview.View{
		Ledger: w.Recorder, Now: w.View.Now,
		Ask: func(context.Context, func(*ledgerdb.Store) error) error { return errors.New("the disk is full") },
	}})
	var all []fleetQuestion
	asked := map[string]bool{}
	for _, one := range []struct{ name, query string }{
		{"clusters", "limit=8"}, {"standing", ""}, {"behind", "environment=prod&limit=7"}, {"where", "workload=checkout&limit=8"}, {"history", "workload=checkout&limit=11"},
		{"compare", "environment=stage&with=prod"}, {"compare", "environment=stage&with=prod&limit=2"}, {"lead", "environment=prod&limit=2"}, {"dora", "limit=1"},
		{"drift", "environment=prod"}, {"drift", "environment=prod&limit=2"},
		{"refusals", ""}, {"refusals", "limit=1"},
	} {
		tag := askFleet(fleetQuestion{to: full, question: one.name, query: one.query}).Header().Get("ETag")
		asked[one.name] = true
		all = append(all,
			fleetQuestion{full, one.name, one.query, "", 200}, fleetQuestion{full, one.name, one.query, `"old"`, 200}, fleetQuestion{full, one.name, one.query, `"old", ` + tag, 304},
			fleetQuestion{full, one.name, "colour=blue", "", 400},
			fleetQuestion{New(Options{}), one.name, one.query, "", 404}, fleetQuestion{away, one.name, one.query, "", 503})
	}
	late := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	late.ReportLate()
	late.AddLab()
	moved := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	moved.MoveCluster("stage", "large", "east-1")
	moved.HoldUp("stage", "large", "east-1", "Kustomization/flux-system/apps")
	mark := filepath.Join(t.TempDir(), "ledger.mark")
	if err := os.WriteFile(mark, []byte(`{"clusters":null,"lastSeen":"2026-11-23T11:00:00Z","loss":{"time":"2026-11-23T11:00:00Z","reason":"emptied"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	moved.Recorder.ReadMark(mark)
	for question, query := range map[string]string{"clusters": "", "history": "workload=checkout", "where": "workload=payments"} {
		all = append(all, fleetQuestion{New(Options{Fleet: moved.View}), question, query, "", 200})
	}
	for question, query := range map[string]string{"history": "workload=payments&cluster=east-6", "lead": "environment=lab", "dora": "environment=lab", "standing": ""} {
		all = append(all, fleetQuestion{New(Options{Fleet: late.View}), question, query, "", 200})
	}
	if len(asked) != len(fleetview.Names()) {
		t.Errorf("asked are %v, and there are %v", asked, fleetview.Names())
	}
	return all
}

// askFleet sends a question.
func askFleet(q fleetQuestion) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, fleetQuestions+q.question+"?"+q.query, nil)
	r.Header.Set("If-None-Match", q.tag)
	w := httptest.NewRecorder()
	q.to.ServeHTTP(w, r)
	return w
}

// TestFleetPage: the page of an environment has its clusters, and those that are not ready by name, but not
// all of them; one sentence where there is no ledger, and one where that cannot be asked.
func TestFleetPage(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	page := func(of *fleetview.View) string {
		h := New(Options{Store: fleet(), Fleet: of, Version: "1.2.3", Now: func() time.Time { return ledgerworld.Now }})
		return mainOf(ask(h, http.MethodGet, "/environments/prod").Body.String())
	}
	golden(t, "testdata/fleet.html", page(w.View))
	away := page(&fleetview.View{Ledger: w.Recorder, Now: w.View.Now, Ask: func(context.Context, func(*ledgerdb.Store) error) error { return errors.New("the disk is full") }})
	if !strings.Contains(away, "The ledger cannot be asked now") || strings.Contains(away, "disk") {
		t.Errorf("without its store the page is\n%s", away)
	}
	if none := page(nil); strings.Count(none, "the daemon has no ledger") != 1 || strings.Contains(none, "clusters ready") {
		t.Errorf("without a ledger the page is\n%s", none)
	}
	for n := range 150 {
		w.AddSilent("prod", fmt.Sprintf("north-%03d", n))
	}
	full := page(w.View)
	if named := strings.Count(full, "<li><strong>"); named != maxLaggards || !strings.Contains(full, "<li>and 58 others; <code>fairlead fleet behind prod</code> lists all</li>") {
		t.Errorf("%d clusters are named on\n%s", named, full)
	}
}

// deploymentStates are requests as scripts for Kalypso send them, and the codes that they are answered with.
func deploymentStates(t *testing.T) []fleetState {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	full := New(Options{Fleet: w.View})
	away := New(Options{Fleet: &fleetview.View{
		Ledger: w.Recorder, Now: w.View.Now,
		Ask: func(context.Context, func(*ledgerdb.Store) error) error { return errors.New("the disk is full") },
	}})
	c, two := strings.Repeat("c", 40), strings.Repeat("2", 40)
	const none = `"total_subscribers": 0,`
	return []fleetState{
		{full, "https://git.example.com/gitops/prod/clusters/large", c, "", 200, `"name": "east-2",
      "status_message": "timeout waiting for Deployment/x"`},
		{full, "https://git.example.com/gitops.git/prod/./clusters/large/", "prod@sha1:" + c, "", 200, `"total_subscribers": 7,
  "total_succeeded_subscribers": 1,
  "total_failed_subscribers": 1,
  "total_in_progress_subscribers": 5,`},
		{full, "https://git.example.com/gitops/prod/clusters", c, "", 200, `"total_subscribers": 9,
  "total_succeeded_subscribers": 2,`},
		{full, "https://git.example.com/gitops/prod/clusters/large", strings.Repeat("9", 40), "", 200, `"total_succeeded_subscribers": 0,`},
		{full, "https://git.example.com/checkout/main/deploy", two, "", 200, `"total_subscribers": 9,
  "total_succeeded_subscribers": 2,
  "total_failed_subscribers": 1,`},
		{full, "https://git.example.com/gitops/prod/clusters/larg_", c, "", 200, none},
		{full, "%", c, "", 200, none},
		{full, "", c, "", 400, "cannot be read"},
		{full, "https://git.example.com/gitops/prod/clusters/large", "main", "", 400, "cannot be read"},
		{full, "\"", c, "", 400, "is not JSON"},
		{full, "%", c, "cross-site", 403, "another site"},
		{New(Options{}), "%", c, "", 404, "no ledger"},
		{away, "%", c, "", 503, "cannot be asked"},
	}
}

// fleetState is a request for a deployment state.
type fleetState struct {
	to               http.Handler
	endpoint, commit string
	site             string
	code             int
	body             string // a part of it
}

// answerStates checks all answers to requests for deployment states.
func (c checker) answerStates(t *testing.T) {
	t.Helper()
	for _, s := range deploymentStates(t) {
		body := `{"manifests_endpoint": "` + s.endpoint + `", "commit_id": "` + s.commit + `"}`
		r := httptest.NewRequest(http.MethodPost, "/deployment_state", strings.NewReader(body))
		r.Header.Set("Sec-Fetch-Site", s.site)
		w := httptest.NewRecorder()
		s.to.ServeHTTP(w, r)
		if w.Code != s.code || !strings.Contains(w.Body.String(), s.body) {
			t.Errorf("%s from %q: %d, want %d and %s\n%s", body, s.site, w.Code, s.code, s.body, w.Body)
		}
		c.answer(t, "post", "/deployment_state", w)
	}
	c.answer(t, "post", "/deployment_state", ask(New(Options{}), http.MethodGet, "/deployment_state"))
}

// answerFleet checks all answers to questions about the fleet.
func (c checker) answerFleet(t *testing.T) {
	t.Helper()
	for _, q := range fleetQuestionsOf(t) {
		w := askFleet(q)
		if w.Code != q.code {
			t.Errorf("%s?%s with the tag %s: %d, want %d\n%s", q.question, q.query, q.tag, w.Code, q.code, w.Body)
		}
		c.answer(t, "get", fleetQuestions+q.question, w)
		c.answer(t, "get", fleetQuestions+q.question, ask(q.to, http.MethodPut, fleetQuestions+q.question))
	}
}

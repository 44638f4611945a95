package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xeipuuv/gojsonschema"

	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/lever"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/session"
	"github.com/fairlead-io/fairlead/internal/server/webhook"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// object is a JSON object.
type object = map[string]any

func document(t *testing.T) object {
	t.Helper()
	var doc object
	if err := json.Unmarshal([]byte(openAPI), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestDescribedRoutes compares the addresses and methods of the description with
// those that are answered.
func TestDescribedRoutes(t *testing.T) {
	var described, answered []string
	for path, methods := range document(t)["paths"].(object) {
		for method := range methods.(object) {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	for _, r := range newSite(Options{Webhooks: http.NotFoundHandler(), Plans: http.NotFoundHandler(), Reports: http.NotFoundHandler(), Simulate: simulateNothing, ExplainLanes: explainLanes, Explain: explainNothing, Compare: compareNothing, History: pastActions, People: &People{Keeper: session.New(session.Options{}), Operator: &lever.Operator{}}}).allRoutes() {
		answered = append(answered, r.method+" "+strings.TrimSuffix(r.path, "{$}"))
	}
	slices.Sort(described)
	slices.Sort(answered)
	if diff := cmp.Diff(answered, described); diff != "" {
		t.Errorf("openapi.json (-answered +described):\n%s", diff)
	}
}

// withParts returns what is known of an environment of which two lanes are elsewhere, and of one that is between
// two waves.
func withParts() *status.Store {
	store, c := &status.Store{}, chain()
	c.Stages[2].Lanes = []status.Lane{{Name: "hello", Next: c4, Waiting: 2, Reason: "test has not verified it"}, {Name: "shop", Commit: c3, Hold: "the sale"}, {Name: "till", Commit: c2, State: status.StageFailed, Failure: "the till is full"}}
	c.Stages[2].Releases = []status.Release{{Lane: "till", Name: "till-1", Commit: c1, Versions: []string{"till 1a2b3c4"}, Since: time.Unix(900, 0), State: status.StageVerified, Next: "till-2", NextCommit: c2, Change: []string{"till 1a2b3c4 -> 4d5e6f7"}, Verdict: gate.Verdict{Status: gate.Wait, Reason: "till-2 is not verified in test yet"}, Hold: "the sale"},
		{Lane: "kiosk", Name: "kiosk-1", Commit: c1, Versions: []string{"kiosk 1a2b3c4"}, State: status.StageFailed, Failure: "kiosk 1a2b3c4 is skipped: it loses orders", Verdict: gate.Verdict{Status: gate.Pass}}}
	c.Commits[c.IndexCommit(c4)].Lanes, c.Commits[c.IndexCommit(c3)].Lanes = []string{"hello"}, []string{"shop"}
	c.Stages[0].Advance, c.Stages[0].Waves = "3f2a9c1d04be", []status.Wave{
		{Name: "canary", ClusterTypes: []string{"tiny"}, State: status.StageFailed, Merged: noon, Reason: "Kustomization apps failed on tiny-1", Clusters: 4, Ready: 3, Failed: 1},
		{Name: "rest", ClusterTypes: []string{"small", "large"}, State: status.StageWaiting, Reason: "wave canary failed", LacksApproval: true},
	}
	store.SetPromotions(c)
	return store
}

// TestDescribedAnswers gets every answer that is described, in every code, and
// checks it against its schema. The schemas allow no other properties; what they
// have and no answer does is found too.
func TestDescribedAnswers(t *testing.T) {
	full, empty := open(fleet()), open(&status.Store{})
	well := &status.Store{}
	well.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK})
	at := noon
	promoted := &status.Store{}
	promoted.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK})
	promoted.SetPromotions(chain())
	lanes := New(Options{Store: promoted, ExplainLanes: explainLanes})
	simulates, foretells := simulating(&at), New(Options{Store: fleet(), Simulate: simulateNothing})
	ready := fleet() // a daemon that is not ready has no forecast
	ready.SetControlPlane("")
	soon := func(context.Context, string) ([]promote.Arrival, error) {
		return []promote.Arrival{{Environment: "test", State: promote.ArrivalExpected, Time: noon.Add(time.Hour)}, {Environment: "stage", State: promote.ArrivalWaits, WaitsFor: []promote.ArrivalWait{{Environment: "stage", What: "2 approvals"}}}}, nil
	}
	c := checker{document(t), map[string]bool{}, map[string]*gojsonschema.Schema{}}
	for _, r := range []struct {
		h                    http.Handler
		method, path, target string
		site                 string
	}{
		{full, "get", "/healthz", "/healthz", ""},
		{full, "get", "/readyz", "/readyz", ""},
		{open(well), "get", "/readyz", "/readyz", ""},
		{full, "get", "/metrics", "/metrics", ""},
		{full, "get", "/api/v1/status", "/api/v1/status", ""},
		{empty, "get", "/api/v1/status", "/api/v1/status", ""},
		{full, "get", "/api/v1/chain", "/api/v1/chain", ""},
		{empty, "get", "/api/v1/chain", "/api/v1/chain", ""},
		{open(external()), "get", "/api/v1/chain", "/api/v1/chain", ""},
		{open(withParts()), "get", "/api/v1/chain", "/api/v1/chain", ""},
		{open(withParts()), "get", "/api/v1/overview", "/api/v1/overview", ""},
		{open(withParts()), "get", "/api/v1/environments/{name}", "/api/v1/environments/stage", ""},
		{open(withParts()), "get", "/api/v1/commits/{commit}", "/api/v1/commits/" + c4, ""},
		{full, "post", "/api/v1/wake", "/api/v1/wake", ""},
		{full, "post", "/api/v1/wake", "/api/v1/wake", "cross-site"},
		{lanes, "get", lanesPath, "/api/v1/environments/stage/lanes", ""},
		{lanes, "get", lanesPath, "/api/v1/environments/dev/lanes", ""},
		{New(Options{Store: fleet(), ExplainLanes: explainLanes}), "get", lanesPath, "/api/v1/environments/dev/lanes", ""},
		{lanes, "get", lanesPath, "/api/v1/environments/none/lanes", ""},
		{lanes, "get", lanesPath, "/api/v1/environments/stage/lanes?each=workloads", ""},
		{lanes, "get", lanesPath, "/api/v1/environments/stage/lanes?each=workloads/*", ""},
		{simulates, "get", "/api/v1/simulate", "/api/v1/simulate?commit=main", ""},
		{simulates, "get", "/api/v1/simulate", "/api/v1/simulate", ""},
		{simulates, "get", "/api/v1/simulate", "/api/v1/simulate?commit=nowhere", ""},
		{simulates, "get", "/api/v1/simulate", "/api/v1/simulate?commit=circle", ""},
		{simulates, "get", "/api/v1/simulate", "/api/v1/simulate?commit=main~1", ""},
		{New(Options{Store: ready, Simulate: soon, Now: func() time.Time { return noon }}), "get", api + "/overview", api + "/overview", ""},
		{foretells, "get", forecastPath, "/commits/" + c4 + "/forecast", ""},
		{foretells, "get", api + forecastPath, api + "/commits/" + c4 + "/forecast", ""},
		{foretells, "get", api + forecastPath, api + "/commits/" + c4[:7] + "/forecast", ""},
		{foretells, "get", forecastPath, "/commits/" + c4[:7] + "/forecast", ""},
		{foretells, "get", forecastPath, "/commits/none/forecast", ""},
		{foretells, "get", forecastPath, "/commits/" + e1 + "/forecast", ""},
		{foretells, "get", api + commitPath, api + "/commits/" + e1, ""},
		{foretells, "get", commitPath, "/commits/" + e1, ""},
		{foretells, "get", api + forecastPath, api + "/commits/none/forecast", ""},
		{foretells, "get", forecastPath, "/commits/" + c2 + "/forecast", ""},
		{foretells, "get", api + forecastPath, api + "/commits/" + c2 + "/forecast", ""},
		{full, "get", "/api/v1/openapi.json", "/api/v1/openapi.json", ""},
	} {
		c.answer(t, r.method, r.path, ask(r.h, strings.ToUpper(r.method), r.target, r.site))
		c.answer(t, r.method, r.path, ask(r.h, http.MethodPut, r.target))
	}
	for _, before := range []string{"", api} {
		address := before + "/commits/" + c4 + "/forecast"
		c.answer(t, "get", before+forecastPath, askTagged(foretells, address, ask(foretells, http.MethodGet, address).Header().Get("ETag")))
	}
	for _, target := range []string{"/commits/" + c4 + ".svg", "/commits/" + c4 + ".ics", "/commits/" + c4[:7] + ".ics", "/commits/none.svg"} {
		c.answer(t, "get", commitPath, ask(foretells, http.MethodGet, target))
	}
	failing := New(Options{Store: fleet(), Simulate: func(context.Context, string) ([]promote.Arrival, error) { return nil, errors.New("the forge is down") }})
	c.answer(t, "get", commitPath, ask(failing, http.MethodGet, "/commits/"+c4+".ics"))
	for range maxSimulations {
		ask(failing, http.MethodGet, api+"/commits/"+c4+"/forecast")
	}
	c.answer(t, "get", commitPath, ask(failing, http.MethodGet, "/commits/"+c3+".ics"))
	c.answerPages(t, full, empty)
	for range maxSimulations {
		c.answer(t, "get", lanesPath, ask(lanes, http.MethodGet, "/api/v1/environments/stage/lanes"))
		c.answer(t, "get", "/api/v1/simulate", ask(simulates, http.MethodGet, "/api/v1/simulate?commit=main"))
	}
	for _, d := range deliveries() {
		w := httptest.NewRecorder()
		d.to.ServeHTTP(w, d.request())
		c.answer(t, "post", "/webhooks/{forge}", w)
	}
	for _, d := range clusterDeliveries() {
		w := httptest.NewRecorder()
		d.to.ServeHTTP(w, d.request())
		c.answer(t, "post", "/webhooks/{tool}/{cluster}", w)
	}
	for _, q := range planRequests(t) {
		w := httptest.NewRecorder()
		New(Options{Webhooks: http.NotFoundHandler(), Plans: webhook.NewPlanReviewer(nil)}).ServeHTTP(w, q)
		c.answer(t, "post", planQuestions, w)
	}
	c.answerRuns(t)
	w := httptest.NewRecorder()
	d := unprovenDelivery()
	d.to.ServeHTTP(w, d.request())
	c.answer(t, "post", "/webhooks/{forge}", w)
	c.answer(t, "post", "/webhooks/{tool}/{cluster}", ask(open(fleet()), http.MethodPut, "/webhooks/flux/east-1"))
	c.answerSettings(t)
	c.answer(t, "post", "/webhooks/{forge}", ask(open(fleet()), http.MethodPut, "/webhooks/github"))
	for _, r := range fleetReports(t) {
		w := httptest.NewRecorder()
		r.to.ServeHTTP(w, r.request)
		if w.Code != r.code {
			t.Errorf("%s: %d, want %d\n%s", r.name, w.Code, r.code, w.Body)
		}
		c.answer(t, "post", "/api/v1/fleet/reports", w)
	}
	c.answer(t, "post", "/api/v1/fleet/reports", ask(New(Options{Reports: http.NotFoundHandler()}), http.MethodPut, "/api/v1/fleet/reports"))
	c.answerFleet(t)
	c.answerStates(t)
	c.answerPeople(t)
	c.unused(t)
}

// answerPages gets pages, their answers, and what they need.
func (c checker) answerPages(t *testing.T, full, empty http.Handler) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	w.HoldUp("prod", "large", "east-1", "Kustomization/flux-system/apps")
	removing := fleet()
	proposeRemovals(removing, status.Proposed)
	fleetOf := func(store *status.Store, ask func(context.Context, func(*ledgerdb.Store) error) error) http.Handler {
		view := &fleetview.View{Ledger: w.Recorder, Now: w.View.Now, Ask: ask}
		return New(Options{Store: store, Fleet: view, Now: func() time.Time { return ledgerworld.Now }, OverdueAfter: time.Minute})
	}
	c.answer(t, "get", api+"/problems", ask(fleetOf(fleet(), w.View.Ask), http.MethodGet, api+"/problems"))
	for n := range maxLaggards {
		w.AddSilent("prod", fmt.Sprintf("north-%03d", n))
	}
	reportStacks(w)
	handlers := []http.Handler{fleetOf(stackFleet(), w.View.Ask), full, empty, open(external()), open(hosted()), fleetOf(removing, w.View.Ask), fleetOf(fleet(), w.View.Ask), fleetOf(fleet(), func(context.Context, func(*ledgerdb.Store) error) error { return errors.New("the disk is full") })}
	c.answerQuestions(t, full)
	c.answerPulls(t)
	c.answerPast(t)
	for _, p := range newSite(Options{}).rows {
		if p.isWork {
			continue
		}
		path := strings.TrimSuffix(p.path, "{$}")
		targets := []string{path}
		switch path {
		case "/environments/{name}":
			targets = []string{"/environments/prod", "/environments/stage", "/environments/east", "/environments/test", "/environments/pord"}
		case changesPath:
			targets = []string{"/environments/prod/changes/2026-11-20.."}
		case "/environments/{name}/pulls/{number}":
			targets = []string{"/environments/stage/pulls/12", "/environments/stage/pulls/1", "/environments/prod/pulls/41"}
		case "/commits/{commit}":
			targets = []string{"/commits/" + c4, "/commits/" + c2, "/commits/" + c4[:7], "/commits/none"}
		case "/fleet":
			targets = []string{"/fleet", "/fleet?rows=target&cols=clusterType&env=prod", "/fleet?env=later", "/fleet?env=none", "/fleet?state=none"}
		case "/workloads/{workload}":
			targets = []string{"/workloads/checkout", "/workloads/jobs", "/workloads/none", "/workloads/chekout"}
		case "/assignments/{environment}/{clusterType}/{target}":
			targets = []string{"/assignments/prod/large/checkout", "/assignments/dev/large/checkout", "/assignments/prod/small/search", "/assignments/dev/small/search", "/assignments/prod/none/search"}
		case mapPath:
			targets = []string{"/map", "/map?env=dev", "/map?env=none", "/map?env=prod&pull=41"}
		case "/problems":
			targets = []string{"/problems", "/problems?env=none", "/problems?state=bad"}
		case "/environments", "/commits", "/workloads":
			targets = []string{path, path + "?kind=mistake"}
			if path == "/commits" {
				targets = append(targets, "/commits?env=none")
			}
		case "/cluster-types":
			targets = []string{"/cluster-types", "/cluster-types?q=zzz", "/cluster-types?env=dev"}
		case "/clusters":
			targets = []string{"/clusters", "/clusters?env=prod&q=zzz", "/clusters?nope=1", "/clusters?env=nope"}
		case "/cluster-types/{clusterType}":
			targets = []string{"/cluster-types/edge", "/cluster-types/small", "/cluster-types/large", "/cluster-types/none"}
		case "/clusters/{cluster}":
			targets = []string{"/clusters/edge-1", "/clusters/west-1", "/clusters/east-4", "/clusters/east-5", "/clusters/none"}
		case stacksPath:
			targets = []string{"/stacks", "/stacks?env=prod", "/stacks?env=none", "/stacks?state=frozen"}
		case "/stacks/{team}/{stack}":
			targets = []string{"/stacks/shop/eu", "/stacks/shop/eu?env=prod", "/stacks/shop/eu?env=stage", "/stacks/shop/us", "/stacks/shop/old?env=stage", "/stacks/none/none"}
		case "/stacks/{team}/{stack}/runs/{run}":
			targets = []string{"/stacks/shop/eu/runs/none", "/stacks/shop/eu/runs/none?env=prod"}
		case "/search":
			targets = []string{"/search?q=st", "/search?q=stage", "/search?q=chan", "/search?q=heckou", "/search?q=small/checkout", "/search?q=12"}
		}
		for _, h := range handlers {
			for _, target := range targets {
				below := api + target
				if target == "/" {
					below = api + answerBelow(p)
				}
				for described, address := range map[string]string{path: target, api + answerBelow(p): below} {
					first := ask(h, http.MethodGet, address)
					c.answer(t, "get", described, first)
					c.answer(t, "get", described, askTagged(h, address, first.Header().Get("ETag")))
					c.answer(t, "get", described, ask(h, http.MethodPut, address))
				}
				c.answer(t, "get", path, askText(h, target))
			}
		}
	}
	for _, path := range []string{"/api/v1/status", "/api/v1/chain"} {
		c.answer(t, "get", path, askTagged(full, path, ask(full, http.MethodGet, path).Header().Get("ETag")))
	}
	for _, target := range []string{"/assets/" + page.Build + "/fairlead.css", "/assets/" + page.Build + "/fairlead.js", "/assets/" + page.Build + "/icon.svg", "/assets/none/fairlead.css"} {
		c.answer(t, "get", "/assets/{build}/{file}", ask(full, http.MethodGet, target))
		c.answer(t, "get", "/assets/{build}/{file}", ask(full, http.MethodPut, target))
	}
	unread := New(Options{Store: fleet(), History: func(context.Context) (history.Log, error) { return history.Log{}, errors.New("no repository") }})
	c.answer(t, "get", historyPath+csvExtension, ask(unread, http.MethodGet, historyPath+csvExtension))
	for _, path := range []string{"/fleet", historyPath} {
		h := open(fleet())
		for _, query := range []string{"", "?env=pord", "?author=x"} {
			c.answer(t, "get", path+csvExtension, ask(h, http.MethodGet, path+csvExtension+query))
		}
		c.answer(t, "get", path+csvExtension, ask(h, http.MethodPut, path+csvExtension))
	}
	for _, target := range []string{"/map.png", "/map.png?env=none"} {
		c.answer(t, "get", mapPicture, ask(full, http.MethodGet, target))
		c.answer(t, "get", mapPicture, ask(full, http.MethodPut, target))
	}
	for _, before := range []string{"", api} {
		c.answer(t, "get", before+mapPath, ask(full, http.MethodGet, before+"/map?env=prod&at.x=1&at.y=1"))
	}
	for _, before := range []string{"", api} {
		c.answer(t, "get", before+waitingPath, ask(full, http.MethodGet, before+waitingPath+"?fro=me"))
	}
	c.answerCrowded(t)
	c.answerEvents(t)
}

// answerBelow returns the path of the answer of a row below [api].
func answerBelow(row pageRow) string {
	if row.answerPath != "" {
		return row.answerPath
	}
	return row.path
}

// answerQuestions asks all that has another answer, and too much.
func (c checker) answerQuestions(t *testing.T, h http.Handler) {
	targets := []string{figuresPath, figuresPath + "?env=prod", "/history", "/history?env=prod&forced=on", "/history?since=gestern", "/history?env=none", "/explain?env=dev&q=large/web", "/explain", "/explain?env=dev&q=nothing", "/explain?env=dev&q=slow", "/diff?from=dev&to=prod", "/diff?from=dev", "/diff?from=dev&to=none", "/diff?from=dev&to=west", "/diff?from=dev&to=prod&kind=values", "/diff?form=dev", "/explain?evn=dev"}
	slow := New(Options{Store: fleet(), Explain: explainNothing, Compare: func(context.Context, string, string) (drift.Report, error) {
		return drift.Report{}, context.DeadlineExceeded
	}})
	failing := New(Options{Store: fleet(), History: func(context.Context) (history.Log, error) {
		return history.Log{}, errors.New("the repository is damaged")
	}})
	c.answer(t, "get", figuresPath, ask(failing, http.MethodGet, figuresPath))
	c.answer(t, "get", api+figuresPath, ask(failing, http.MethodGet, api+figuresPath))
	c.answer(t, "get", historyPath, ask(failing, http.MethodGet, historyPath))
	drifted, _ := openDrifted(t)
	c.answer(t, "get", api+historyPath, ask(drifted, http.MethodGet, api+historyPath))
	c.answer(t, "get", api+historyPath, ask(failing, http.MethodGet, api+historyPath))
	c.answer(t, "get", api+diffPath, ask(open(proposing()), http.MethodGet, api+"/diff?from=dev&to=prod"))
	for _, store := range []*status.Store{hosted(), proposing()} {
		for _, query := range []string{"?env=dev&q=large/web", "?env=prod&q=huge"} {
			c.answer(t, "get", api+explainPath, ask(open(store), http.MethodGet, api+explainPath+query))
		}
	}
	for range 2 {
		for _, before := range []string{"", api} {
			for _, target := range targets {
				path, _, _ := strings.Cut(target, "?")
				first := ask(h, http.MethodGet, before+target)
				c.answer(t, "get", before+path, first)
				c.answer(t, "get", before+path, askTagged(h, before+target, first.Header().Get("ETag")))
				c.answer(t, "get", before+path, ask(h, http.MethodPut, before+target))
			}
			c.answer(t, "get", before+diffPath, ask(slow, http.MethodGet, before+"/diff?from=dev&to=prod"))
		}
		for range maxQuestions {
			ask(h, http.MethodGet, api+"/diff?from=dev&to=prod")
		}
		targets = []string{"/explain?env=prod&q=large/web", "/diff?from=dev&to=east"}
	}
}

// answerPast asks about the past.
func (c checker) answerPast(t *testing.T) {
	h, store, release := openPast(), fleet(), make(chan struct{})
	defer close(release)
	errReleased := errors.New("nobody waits any more")
	past := pastOf(store)
	past.Plan = func(context.Context, string, history.Moment) (*schedule.Plan, history.Output, error) {
		<-release
		return nil, history.Output{}, errReleased
	}
	past.Explain = func(context.Context, string, history.Moment, string) (explain.Document, history.Output, error) {
		<-release
		return explain.Document{}, history.Output{}, errReleased
	}
	past.Changes = func(context.Context, string, history.Moment, history.Moment) (impact.Report, []history.Output, error) {
		<-release
		return impact.Report{}, nil, errReleased
	}
	past.Chain = func(context.Context, time.Time) (status.Chain, []history.Output, error) {
		<-release
		return status.Chain{}, nil, errReleased
	}
	past.Time = func(context.Context, history.Moment) (time.Time, error) {
		<-release
		return time.Time{}, errReleased
	}
	past.Compare = func(context.Context, history.Place, history.Place) (drift.Report, []history.Output, error) {
		<-release
		return drift.Report{}, nil, errReleased
	}
	ledger := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	ledger.AddPlatform("dev", "large", "dev-1")
	for _, asks := range []func(context.Context, func(*ledgerdb.Store) error) error{ledger.View.Ask, func(context.Context, func(*ledgerdb.Store) error) error { return errors.New("the disk is full") }} {
		view := &fleetview.View{Ledger: ledger.Recorder, Now: ledger.View.Now, Ask: asks}
		ran := New(Options{Store: fleet(), Fleet: view, Now: func() time.Time { return ledgerworld.Now }, Explain: explainNothing, Compare: compareNothing, Past: pastOf(fleet())})
		for _, environment := range []string{"prod", "dev"} {
			c.answer(t, "get", api+"/assignments/{environment}/{clusterType}/{target}", ask(ran, http.MethodGet, api+"/assignments/"+environment+"/large/checkout?at="+ledgerworld.Now.UTC().Format(time.RFC3339)))
		}
		c.answer(t, "get", api+"/overview", ask(ran, http.MethodGet, api+"/overview?at="+ledgerworld.Now.UTC().Format(time.RFC3339)))
		c.answer(t, "get", api+"/environments/{name}", ask(ran, http.MethodGet, api+"/environments/prod?at="+ledgerworld.Now.UTC().Format(time.RFC3339)))
	}
	waits := New(Options{Store: store, Now: func() time.Time { return noon }, Explain: explainNothing, Compare: compareNothing, History: pastActions, Past: past, PastPatience: time.Millisecond})
	for _, before := range []string{"", api} {
		address := before + "/environments/prod/changes/2026-11-20..c1d1e1"
		first := ask(h, http.MethodGet, address)
		c.answer(t, "get", before+changesPath, first)
		c.answer(t, "get", before+changesPath, ask(h, http.MethodGet, before+"/environments/pord/changes/2026-11-20.."))
		c.answer(t, "get", before+changesPath, askTagged(h, address, first.Header().Get("ETag")))
	}
	others := pastOf(store)
	others.Chain = func(context.Context, time.Time) (status.Chain, []history.Output, error) {
		return status.Chain{External: true}, nil, nil
	}
	c.answer(t, "get", api+"/overview", ask(New(Options{Store: store, Past: others}), http.MethodGet, api+"/overview?at=2026-11-20"))
	for path, target := range map[string]string{"/": "/?", "/overview": "/overview?", commitsPath: "/commits?", commitPath: "/commits/" + c2 + "?", historyPath: "/history?", "/fleet.csv": "/fleet.csv?", "/history.csv": "/history.csv?", waitingPath: "/waiting?", settingsPath: "/settings?"} {
		for _, before := range []string{"", api} {
			if before == api && (path == "/" || path == settingsPath || strings.HasSuffix(path, csvExtension)) || before == "" && path == "/overview" {
				continue
			}
			for _, at := range []string{"2026-11-20", "2020-01-01", "never", "c1d1e1", "abcdabcd"} {
				c.answer(t, "get", before+path, ask(h, http.MethodGet, before+target+"&at="+at))
				c.answer(t, "get", before+path, ask(waits, http.MethodGet, before+target+"&at="+at))
			}
		}
	}
	for path, target := range map[string]string{
		explainPath: "/explain?env=dev&q=x", diffPath: "/diff?from=dev&to=prod", "/fleet": "/fleet?", mapPath: "/map?env=prod", environmentsPath: "/environments?", "/workloads": "/workloads?", "/workloads/{workload}": "/workloads/checkout?", "/cluster-types": "/cluster-types?",
		"/environments/{name}": "/environments/dev?", changesPath: "/environments/dev/changes/2026-11-20..?", "/cluster-types/{clusterType}": "/cluster-types/small?", "/assignments/{environment}/{clusterType}/{target}": "/assignments/dev/large/checkout?",
	} {
		for _, before := range []string{"", api} {
			for _, at := range []string{"&at=2026-11-20", "&at=never"} {
				c.answer(t, "get", before+path, ask(h, http.MethodGet, before+target+at))
			}
			c.answer(t, "get", before+path, ask(waits, http.MethodGet, before+target+"&at=2026-11-20"))
		}
	}
}

// answerEvents follows a page whose reader has gone already, and with too many others.
func (c checker) answerEvents(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	s := newSite(Options{Store: fleet()})
	for _, target := range []string{"/events?page=/", "/events"} {
		w := httptest.NewRecorder()
		s.serveEvents(w, httptest.NewRequestWithContext(gone, http.MethodGet, target, nil))
		c.answer(t, "get", "/events", w)
	}
	s.streams.open.Store(maxStreams)
	w := httptest.NewRecorder()
	s.serveEvents(w, httptest.NewRequest(http.MethodGet, "/events?page=/", nil))
	c.answer(t, "get", "/events", w)
	c.answer(t, "get", "/events", ask(New(Options{}), http.MethodPut, "/events"))
}

// checker compares answers with the document, and notes what it has met.
type checker struct {
	doc  object
	seen map[string]bool // "code method path" of an answer, "Schema.property" of a property
	// schemas are those that were compiled, by their text: each has the whole document with it.
	schemas map[string]*gojsonschema.Schema
}

func (c checker) answer(t *testing.T, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	code := strconv.Itoa(w.Code)
	response, ok := c.at("paths", path, method, "responses", code)
	if !ok {
		t.Errorf("%s %s answers %s, which is not described", method, path, code)
		return
	}
	c.seen[code+" "+method+" "+path] = true
	described, _ := c.resolve(response)["content"].(object)
	if described == nil && w.Body.Len() == 0 && w.Header().Get("Content-Type") == "" {
		return
	}
	kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	content, ok := described[kind].(object)
	if !ok {
		t.Errorf("%s %s answers %s as %s, which is not described", method, path, code, kind)
		return
	}
	var body any = w.Body.String()
	if kind == "application/json" {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
	}
	c.check(t, content["schema"].(object), body)
}

// check validates a value. The document goes along with the schema, so that
// references into it are found.
func (c checker) check(t *testing.T, schema object, value any) {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	if c.schemas[string(text)] == nil {
		root := object{"allOf": []any{schema}, "components": c.doc["components"]}
		c.schemas[string(text)], err = gojsonschema.NewSchema(gojsonschema.NewGoLoader(root))
		if err != nil {
			t.Fatal(err)
		}
	}
	result, err := c.schemas[string(text)].Validate(gojsonschema.NewGoLoader(value))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Errors() {
		t.Error(e)
	}
	c.note(schema, "", value)
}

// note marks the properties that a value has.
func (c checker) note(schema object, name string, value any) {
	choices, _ := schema["oneOf"].([]any)
	for _, choice := range choices { // the value is as one of them says, which alone requires what it has
		has := func(key any) bool { _, there := value.(object)[key.(string)]; return there }
		required := c.resolve(choice.(object))["required"].([]any)
		if !slices.ContainsFunc(required, func(key any) bool { return !has(key) }) {
			c.note(choice.(object), name, value)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		schema, name = c.resolve(schema), strings.TrimPrefix(ref, "#/components/schemas/")
	}
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			c.note(schema["items"].(object), name, v)
		}
	case object:
		properties, _ := schema["properties"].(object)
		for key, v := range value {
			if p, ok := properties[key].(object); ok {
				c.seen[name+"."+key] = true
				c.note(p, name, v)
			}
		}
	}
}

// unanswered are properties that no answer of these tests has: those that commands print, and the API never
// sends, and those of states that the fleets of the tests are not in.
var unanswered = []string{
	"ActionsOutput.branch", "ActionsOutput.from", "ActionsOutput.merged", "ActionsOutput.pull", "ActionsOutput.repo", "Result.output", "Chain.fromGit", "StandingPage.next",
	"ClusterStanding.message", "FleetviewCluster.message", "OneEnvironment.hasClusters", "OneEnvironment.hasStacks", "OneEnvironment.teardowns", "Status.vanished", "StatusEnvironment.hasClusters", "Placement.plan", "Plan.destroys", "Plan.drift", "Plan.id", "Choice.lanes", "Choice.unrendered", "Choice.url", "ResolvedProblem.cluster", "ResolvedProblem.hint", "ResolvedProblem.pull",
}

// unused reports described answers and properties that were not met.
func (c checker) unused(t *testing.T) {
	t.Helper()
	var all []string
	for path, methods := range c.doc["paths"].(object) {
		for method, m := range methods.(object) {
			for code := range m.(object)["responses"].(object) {
				all = append(all, code+" "+method+" "+path)
			}
		}
	}
	schemas, _ := c.at("components", "schemas")
	for name, s := range schemas {
		if s.(object)["additionalProperties"] != false {
			t.Errorf("%s allows any property", name)
		}
		for key := range s.(object)["properties"].(object) {
			all = append(all, name+"."+key)
		}
	}
	all = slices.DeleteFunc(all, func(one string) bool { return slices.Contains(unanswered, one) })
	slices.Sort(all)
	if diff := cmp.Diff(all, slices.Sorted(maps.Keys(c.seen))); diff != "" {
		t.Errorf("(-described +answered):\n%s", diff)
	}
}

func (c checker) at(keys ...string) (object, bool) {
	o := c.doc
	for _, k := range keys {
		next, ok := o[k].(object)
		if !ok {
			return nil, false
		}
		o = next
	}
	return o, true
}

func (c checker) resolve(o object) object {
	ref, ok := o["$ref"].(string)
	if !ok {
		return o
	}
	target, _ := c.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	return target
}

package browsertest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// setPlans has it known what is assigned in dev and prod.
func setPlans(s *status.Store) {
	for environment, tag := range map[string]string{"dev": "1.5.0", "prod": "1.4.2"} {
		s.SetPlan(environment, newPlan(environment, tag))
	}
}

// newPlan returns a plan that has three workloads on six cluster types.
func newPlan(environment, tag string) *schedule.Plan {
	pos := problem.Pos{Layer: "base", File: "workloads/checkout.yaml", Line: 9}
	m := &model.Model{Environment: environment, Policies: []*model.Policy{{Object: model.Object{Name: "everywhere", Pos: pos}, Workspace: "shop"}}}
	for _, name := range []string{"large", "site-01", "site-02", "site-03", "site-04", "small"} {
		m.ClusterTypes = append(m.ClusterTypes, &model.ClusterType{Object: model.Object{Name: name, Labels: map[string]string{"region": "west"}, Pos: pos}, Clusters: -1})
	}
	for _, name := range []string{"checkout", "payments", "search"} {
		team := "shop"
		if name == "search" {
			team = ""
		}
		m.Targets = append(m.Targets, &model.Target{Object: model.Object{Name: name, Pos: pos}, Workload: name, Workspace: team, Manifests: map[string]string{"tag": tag}})
	}
	return schedule.NewPlan(m, nil)
}

// fleetPages are all kinds of pages about what is assigned, with and without assignments, and about what changes it.
var fleetPages = []string{
	"/environments/prod/pulls/41", "/environments/prod/changes/2026-11-20..2026-11-21", "/commits/" + newest + "/forecast",
	"/history", "/history?forced=on", "/history/figures", "/environments/prod", "/fleet", "/fleet?at=2026-11-20", "/?at=2026-11-20", "/commits?at=2026-11-20", "/environments?at=2026-11-20", "/workloads/checkout?at=2026-11-20", "/assignments/prod/small/checkout?at=2026-11-20", "/cluster-types/small?at=2026-11-20", "/fleet?rows=target&cols=clusterType&env=prod", "/fleet?q=nothing-like-that", "/workloads", "/workloads/checkout", "/assignments/prod/small/checkout", "/assignments/prod/small/search",
	"/styleguide", "/map?env=prod", "/cluster-types", "/cluster-types/small", "/clusters/west-1", "/clusters/east-4",
}

// pastActions returns what was done to prod.
func pastActions(context.Context) (history.Log, error) {
	return history.Log{Entries: []history.Entry{
		{Time: noon, Who: "carol", Environment: "prod", Action: "promote", Title: "Promote to prod", From: older, To: newest, Forced: "fix of the outage", Overrides: []string{"it is not verified in dev"}, Commit: older},
		{Time: noon, Who: "dana", Action: "freeze", Title: "Freeze prod: sale", Reason: "the sale", Commit: newest},
	}, Deployments: map[string][]history.Deployment{"prod": {{Commit: newest, Merged: noon, Authored: noon.Add(-time.Hour)}}}}, nil
}

// setWaves has prod roll out in groups: the first one fails, the second has not begun.
func setWaves(s *status.Store) {
	chain := s.Snapshot().Chain
	for i := range chain.Stages {
		if chain.Stages[i].Environment == "prod" {
			chain.Stages[i].Groups = map[string]string{"east-1": "canary", "east-2": "canary", "west-1": "second", "east-4": "second"}
			const reason = "canary: 1 of 2 clusters ready (50%, wants 100%): 1 failed (east-2: timeout waiting for Deployment/x)"
			chain.Stages[i].Proof = gate.Verdict{Gate: "proof", Status: gate.Fail, Reason: reason, Parts: []gate.Verdict{{Gate: "rollout", Status: gate.Fail, Reason: reason}}}
		}
	}
	s.SetPromotions(chain)
}

// explainNothing and compareNothing answer every question, and pastOf answers those about the past by what is there now.
func explainNothing(_ context.Context, environment, query string) (explain.Document, error) {
	place := problem.Pos{Layer: "base", File: "configs/of-a-fleet-with-a-long-name/environment.yaml", Line: 12}
	return explain.Document{Title: query + " in " + environment, Sections: []explain.Section{
		{Tables: []explain.Table{{Rows: [][]explain.Cell{{{Text: "cluster type"}, {Text: "large", Query: "ClusterType/large"}, {Text: place.String(), At: place}}}}}},
		{Heading: "policies that select it: 1 of 2", Tables: []explain.Table{{Rows: [][]explain.Cell{{{Text: "selects it"}, {Text: "everywhere"}}, {{Text: "not satisfied"}, {Text: "needs app=web"}}}}}},
		{Heading: "values: 1 key", Tables: []explain.Table{{Rows: [][]explain.Cell{{{Text: `QUOTA = {"pods":"20","services":"10"}`}}}}, {Depth: 2, Rows: [][]explain.Cell{{{Text: "wins"}, {Text: "20-environment"}, {Text: place.String(), At: place}, {Text: "region=west"}}}}}},
	}}, nil
}

// changeOne is what changes where one assignment goes and the values of another one are others.
func changeOne() impact.Report {
	files := func(level string, names ...string) tree.Tree {
		var b tree.Builder
		for _, name := range names {
			if err := b.Add(name+"/config.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {LOG_LEVEL: "+level+"}\n")); err != nil {
				panic(err)
			}
		}
		return b.Tree()
	}
	return impact.Compare(files("info", "small/checkout", "small/search"), files("debug", "small/checkout"), impact.Options{})
}

// mergePull answers that every pull request is merged.
func mergePull(_ context.Context, environment string, number int) (history.Pull, error) {
	p := history.Pull{Pull: forge.Pull{Proposal: forge.Proposal{Title: environment + ": REMOVE search"}, Number: number, State: forge.Merged, Commit: newest, URL: "https://git.example.com/gitops/pull/41"}, From: older, To: newest, Report: changeOne()}
	p.Commits = []git.CommitInfo{{ID: newest, Message: "Less noise", Author: git.Signature{Name: "alice"}, When: noon}}
	return p, nil
}

// simulateSoak forecasts that prod gets every commit after its soak.
func simulateSoak(context.Context, string) ([]promote.Arrival, error) {
	return []promote.Arrival{{Environment: "dev", State: promote.ArrivalHas, Time: noon, Reason: "it has it"}, {Environment: "prod", State: promote.ArrivalExpected, Time: noon.Add(time.Hour), Delays: []promote.ArrivalWait{{Environment: "prod", What: "soak until then"}}, Reason: "every gate has a known end"}}, nil
}

func compareNothing(_ context.Context, from, to string) (drift.Report, error) {
	return drift.Report{From: from, To: to}, nil
}

func pastOf(s *status.Store) *web.Past {
	then := func(environment string, at history.Moment) history.Output {
		return history.Output{Place: history.Place{Environment: environment, At: at}, Commit: older, When: noon.Add(-72 * time.Hour), Base: older}
	}
	return &web.Past{
		Explain: func(ctx context.Context, environment string, at history.Moment, query string) (explain.Document, history.Output, error) {
			document, err := explainNothing(ctx, environment, query)
			return document, then(environment, at), err
		},
		Compare: func(ctx context.Context, from, to history.Place) (drift.Report, []history.Output, error) {
			report, err := compareNothing(ctx, from.String(), to.String())
			return report, []history.Output{then(from.Environment, from.At)}, err
		},
		Chain: func(context.Context, time.Time) (status.Chain, []history.Output, error) {
			c := s.Snapshot().Chain
			for i := range c.Stages {
				c.Stages[i].State, c.Stages[i].Next = status.StagePromoted, promote.Decision{}
			}
			return c, []history.Output{then("dev", history.Moment{}), then("prod", history.Moment{})}, nil
		},
		Changes: func(_ context.Context, environment string, from, to history.Moment) (impact.Report, []history.Output, error) {
			return changeOne(), []history.Output{then(environment, from), then(environment, to)}, nil
		},
		Plan: func(_ context.Context, environment string, at history.Moment) (*schedule.Plan, history.Output, error) {
			plan := s.Snapshot().Plans[environment]
			if plan == nil {
				return nil, history.Output{}, &explain.QueryError{Summary: environment + " was not there"}
			}
			return plan, then(environment, at), nil
		},
	}
}

// openFleet serves a site whose clusters have reported, with more that is set.
func openFleet(t *testing.T, setMore ...func(*status.Store)) string {
	t.Helper()
	store, w := &status.Store{}, ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	for _, set := range append([]func(*status.Store){setFleet, setPlans, setWaves}, setMore...) {
		set(store)
	}
	view := &fleetview.View{Ledger: w.Recorder, Ask: w.View.Ask, Now: w.View.Now}
	server := httptest.NewServer(web.New(web.Options{Store: store, Version: "1.2.3", Fleet: view, Now: w.View.Now, History: pastActions, Explain: explainNothing, Compare: compareNothing, Past: pastOf(store), Pull: mergePull, Simulate: simulateSoak, StyleGuide: true}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestFleet reads the pages about what is assigned in a real browser.
func TestFleet(t *testing.T) {
	browser, root := Start(t), openFleet(t)
	for _, width := range []int{1280, 400} {
		t.Run(fmt.Sprintf("%d without script", width), func(t *testing.T) { readFleet(t, browser.Open(t, View{Width: width}), root) })
	}
	t.Run("map", func(t *testing.T) { clickMap(t, browser, root) })
	for _, v := range fourViews {
		t.Run(fmt.Sprintf("%d dark %v", v.Width, v.Dark), func(t *testing.T) {
			w := browser.Open(t, v)
			for i, path := range fleetPages {
				w.Visit(root + path)
				checkWidth(t, w, v.Width, path)
				checkAccessible(t, w, path)
				w.keepPicture(fmt.Sprintf("fleet-%d-%d-%v.png", i, v.Width, v.Dark))
			}
		})
	}
}

// readFleet asks what runs where, and why, with links and forms alone.
func readFleet(t *testing.T, w *Window, root string) {
	w.Visit(root + "/")
	w.Click(`nav a[href="./fleet"]`)
	w.WaitFor("main", "failed 1/6") // what runs where
	w.Click(`main td[data-label="prod"] a`)
	w.WaitFor(`main td[data-label="small"]`, "1.4.1")
	w.WaitFor("h1", "Fleet: checkout in prod by target and cluster type")
	shared := w.Address() // reloaded, left and come back to, and opened by somebody else, it is the same
	w.Run(chromedp.Reload())
	w.WaitFor("h1", "checkout in prod")
	w.Click(`main .crumbs a[href="./fleet"]`)
	w.Run(chromedp.Evaluate("history.back()", nil)) // which loads nothing, if the browser has kept the page
	w.WaitFor("h1", "checkout in prod")
	w.Visit(root + shared)
	w.Click(`main td[data-label="small"] a`)
	w.WaitFor("h1", "small/checkout in prod")
	w.WaitFor("main", "everywhere") // why it is there
	w.Visit(root + "/fleet")
	w.Submit(`main input[name="q"]`, "search")
	if got := w.Address(); !strings.Contains(got, "q=search") {
		t.Errorf("the filter is not in the address %s", got)
	}
	w.WaitFor("main", "Nothing that is assigned is like that")
	w.Click(`nav a[href="./history"]`)
	w.WaitFor("main", "fix of the outage") // who did what, and why
	w.Submit(`header [role="search"] input`, "west-1")
	w.WaitFor("#objects", "image not found") // what is broken on this cluster
	w.Click(`main a[href="../cluster-types/small"]`)
	w.WaitFor("#late", "failed")
	w.WaitFor("#clusters", "west-2")
	w.Visit(root + "/fleet?at=2026-11-20") // the moment stays
	w.Click(`main a[href="./workloads/checkout?at=2026-11-20"]`)
	w.WaitFor("#past", "You look at the past")
	if main := w.Text("main"); strings.Contains(main, "failed") || strings.Contains(main, "there is no ledger") {
		t.Errorf("the past has states of now:\n%s", main)
	}
	w.Visit(root + "/workloads")
	w.Click(`main a[href="./workloads/checkout"]`)
	w.WaitFor("main #where", "1.5.0")
}

// clickMap clicks at cells of the map without script: the page that this leads to is about the cluster type and the
// target of that row and column, by the names that the table has, which says the same. A narrow window has the table
// alone.
func clickMap(t *testing.T, browser *Browser, root string) {
	w := browser.Open(t, View{Width: 1280})
	w.Visit(root + "/fleet?rows=target&cols=clusterType&env=prod")
	var clusterTypes, targets []string
	w.Ask(`[...document.querySelectorAll("main .matrix thead th a")].map(e => e.textContent.trim()).sort()`, &clusterTypes)
	w.Ask(`[...document.querySelectorAll("main .matrix tbody th a")].map(e => e.textContent.trim()).sort()`, &targets)
	targets = append(targets, "search") // which is assigned nowhere, so that the table has no row for it
	if len(clusterTypes) != 6 || len(targets) != 3 {
		t.Fatalf("the table has the cluster types %q and the targets %q", clusterTypes, targets)
	}
	for row, clusterType := range clusterTypes {
		column := row % len(targets)
		w.Visit(root + "/map?env=prod")
		w.WaitFor("main", "6 cluster types from the top, and 3 deployment targets from the left, both by name")
		var box struct{ X, Y, Width, Height float64 }
		w.Ask(`document.querySelector("main input[type=image]").getBoundingClientRect().toJSON()`, &box)
		x, y := box.X+box.Width*(float64(column)+0.5)/3, box.Y+box.Height*(float64(row)+0.5)/6
		if err := w.tab.load(chromedp.MouseClickXY(x, y)); err != nil {
			t.Fatal(err)
		}
		if got, want := w.Text("h1"), clusterType+"/"+targets[column]+" in prod"; got != want {
			t.Errorf("a click at row %d, column %d leads to %q, want %q", row, column, got, want)
		}
		if isNot := strings.Contains(w.Text("h1 + .tag"), "not assigned"); isNot != (targets[column] == "search") {
			t.Errorf("%s/%s is not assigned: %v", clusterType, targets[column], isNot)
		}
	}
	w = browser.Open(t, View{Width: 400})
	w.Visit(root + "/map?env=prod")
	var isShown bool
	w.Ask(`document.querySelector("main input[type=image]").checkVisibility()`, &isShown)
	if isShown {
		t.Error("a narrow window shows the map")
	}
	w.Click(`main a[href="./fleet?rows=target&cols=clusterType&env=prod"]`)
	w.WaitFor("main", "site-04")
}

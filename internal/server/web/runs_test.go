package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/webhook"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// sentPlan returns what a job on a cluster sends of a component of shop/eu: the Terraform object with the plan.
func sentPlan(component, inputs, value string) string {
	return `{"apiVersion": "infra.contrib.fluxcd.io/v1alpha2", "kind": "Terraform", "metadata": {"name": "shop-eu-` + component + `", "namespace": "shop-eu", "annotations": {"fairlead.io/inputs": "` + inputs + `"}},
		"spec": {"approvePlan": ""}, "status": {"plan": {"pending": "` + planID + `"}, "tfplan": {"format_version": "1.2", "resource_changes": [
		{"address": "aws_vpc.main", "change": {"actions": ["create"], "after": {"cidr": ` + value + `}}},
		{"address": "aws_subnet.a", "change": {"actions": ["update"], "before": {"zone": "a", "db_password": "hunter2", "login": {"token": "hunter3"}}, "after": {"zone": "b", "db_password": "hunter4", "login": "https://x:hunter5@example.com"}}},
		{"address": "aws_db.old", "change": {"actions": ["delete"], "before": {"name": "old"}}},
		{"address": "aws_db.new", "change": {"actions": ["create"], "after": {"name": "new", "password": "sensible"}, "after_sensitive": {"password": true}}},
		{"address": "aws_db.copy", "change": {"actions": ["create"], "after": {"name": "copy"}}}]}}, "cost": ` + map[string]string{"cluster": `{"version": "0.2", "currency": "EUR", "totalMonthlyCost": "112.5", "pastTotalMonthlyCost": "12"}`, "database": "null", "none": "null"}[component] + `}`
}

// serveRuns returns the site of stackFleet, where clusters have keys: "key of CLUSTER".
func serveRuns(t *testing.T) http.Handler {
	t.Helper()
	w, store := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db")), stackFleet()
	reportStacks(w)
	w.ReportObject("prod", "east-1", "Terraform/shop-eu/shop-eu-database", ledger.Progressing, "", "")
	now := func() time.Time { return ledgerworld.Now }
	hooks := webhook.New(webhook.Options{
		Secrets:     func(string) ([]string, error) { return nil, nil },
		ClusterKeys: func(cluster string, _ time.Time) ([]string, error) { return []string{"key of " + cluster}, nil },
		Plan: func(cluster string, r tfplan.Report) bool {
			return store.AddPlan(stackview.NewReportedPlan(cluster, r, ledgerworld.Now))
		},
		Now: now,
	})
	return New(Options{Store: store, Fleet: w.View, Now: now, OverdueAfter: time.Minute, Webhooks: hooks, Plans: webhook.NewPlanReviewer(nil)})
}

// send sends a plan, and returns the answer.
func send(t *testing.T, h http.Handler, address, key, body string) (code int, text string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestRuns: a plan is shown as the plan of a component if a cluster of its environment has sent it with its key
// which reports the component, and was made from what the output has; nothing else that is sent is shown.
func TestRuns(t *testing.T) {
	h := serveRuns(t)
	const inputs, shown = "feaec16826997273", "+3 ~1 −1"
	isShown := func() bool {
		text := ""
		for _, path := range []string{"/stacks/shop/eu?env=prod", "/api/v1/stacks/shop/eu?env=prod", "/", "/stacks", "/environments/prod"} {
			text += ask(h, http.MethodGet, path).Body.String()
		}
		return strings.Contains(text, shown) || strings.Contains(text, `"run":`) || strings.Contains(text, "aws_db")
	}
	plan := sentPlan("cluster", inputs, `"10.0.0.0/16"`)
	question := strings.Replace(plan, `"plan": {"pending": "`+planID+`"}, `, "", 1)
	before := strings.Replace(plan, planID, "plan-fairlead-modules-prod-0000000000", 1)
	stale := strings.Replace(plan, `"metadata": {`, `"metadata": {"generation": 2, `, 1)
	for _, c := range []struct {
		name, address, key, body string
		code                     int
		kept, shown              bool
	}{
		{"a question of tofu-controller, which proves nothing", "/webhooks/plans", "", plan, 200, false, false},
		{"the same with a key: it is not looked at", "/webhooks/plans", "key of east-1", plan, 200, false, false},
		{"no key", "/webhooks/plans/east-1", "", plan, 401, false, false},
		{"a wrong key", "/webhooks/plans/east-1", "key", plan, 401, false, false},
		{"the key of another cluster", "/webhooks/plans/east-1", "key of east-2", plan, 401, false, false},
		{"another cluster of the environment, with its key", "/webhooks/plans/east-2", "key of east-2", plan, 200, true, false},
		{"a cluster of no environment, with its key", "/webhooks/plans/nobody", "key of nobody", plan, 200, true, false},
		{"other inputs", "/webhooks/plans/east-1", "key of east-1", sentPlan("cluster", "0000000000000000", `"x"`), 200, false, false},
		{"a question of tofu-controller, which does not say the commit", "/webhooks/plans/east-1", "key of east-1", question, 200, false, false},
		{"a plan of the commit of before, with the annotation of now", "/webhooks/plans/east-1", "key of east-1", before, 200, false, false},
		{"a plan of before the object has changed", "/webhooks/plans/east-1", "key of east-1", stale, 200, false, false},
		{"no component", "/webhooks/plans/east-1", "key of east-1", sentPlan("none", inputs, `"x"`), 200, false, false},
		{"its own", "/webhooks/plans/east-1", "key of east-1", plan, 200, true, true},
	} {
		code, text := send(t, h, c.address, c.key, c.body)
		if code != c.code || strings.Contains(text, `"kept": true`) != c.kept || isShown() != c.shown {
			t.Errorf("%s: %d %s, shown: %v", c.name, code, text, isShown())
		}
	}
}

// sendPlans has the cluster send the plans of components of shop/eu, and returns the address of the page of the last
// one.
func sendPlans(t *testing.T, h http.Handler, value string, components ...string) (address string) {
	t.Helper()
	for _, component := range components {
		code, text := send(t, h, "/webhooks/plans/east-1", "key of east-1", sentPlan(component, "feaec16826997273", value))
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
		var s answer.Stack
		if err := json.Unmarshal(ask(h, http.MethodGet, "/api/v1/stacks/shop/eu?env=prod").Body.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		address = ""
		for _, p := range s.Parts {
			if p.Name == component && p.Run != nil {
				address = "/stacks/shop/eu/runs/" + p.Run.ID + "?env=prod"
			}
		}
		if address == "" {
			t.Fatalf("%s has no plan", component)
		}
	}
	return address
}

// TestRunsGolden compares what the pages say of plans, and holds each page to its answer.
func TestRunsGolden(t *testing.T) {
	h := serveRuns(t)
	cluster := sendPlans(t, h, `"10.0.0.0/16"`, "cluster")
	database := sendPlans(t, h, `"10.0.0.0/16"`, "database")
	for name, address := range map[string]string{"stack-planned.html": "/stacks/shop/eu?env=prod", "run.html": cluster, "run-not-compared.html": database, "run-missing.html": "/stacks/shop/eu/runs/0000000000000000?env=prod"} {
		golden(t, "testdata/stacks/"+name, mainOf(ask(h, http.MethodGet, address).Body.String()))
	}
	checkLinks(t, h, cluster)
	var a answer.StackRun
	if err := json.Unmarshal(ask(h, http.MethodGet, api+cluster).Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	kept, err := page.Render(page.Frame{Path: cluster}, a)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := kept.For(page.Reader{})
	said := func(page string) string { return page[strings.Index(page, `<ol class="crumbs">`):] } // without the state of Fairlead itself
	if diff := cmp.Diff(said(mainOf(ask(h, http.MethodGet, cluster).Body.String())), said(mainOf(string(body)))); diff != "" {
		t.Errorf("the page says what its answer does not (-page +answer):\n%s", diff)
	}
	text := askText(h, cluster).Body.String()
	for _, want := range []string{"plan of cluster of shop/eu in prod: waits for approval\n+3 ~1 −1, 12.00 to 112.50 EUR a month (+100.50): 3 to add, 1 to change, 1 to destroy\n", ", inputs feaec16826997273, digest sha256:", "\nfairlead approve-plan prod shop/eu/cluster --inputs feaec16826997273 --digest sha256:", "\n\n  # aws_db.old will be destroyed\n", "+ password: (sensitive value)\n"} {
		if !strings.Contains(text, want) || strings.Contains(text, "sensible") || strings.Contains(text, "hunter") {
			t.Errorf("as text it has not %q:\n%s", want, text)
		}
	}
	for address, want := range map[string]string{"/stacks/shop/eu?env=prod": "\nplan of cluster: " + cluster + "\n", "/stacks?env=prod": "+6 ~2 −2"} {
		if text := askText(h, address).Body.String(); !strings.Contains(text, want) {
			t.Errorf("%s has not %q:\n%s", address, want, text)
		}
	}
	if title := "Plan " + a.ID + " of cluster of shop/eu in prod · Fairlead</title>"; !strings.Contains(ask(h, http.MethodGet, cluster).Body.String(), title) {
		t.Errorf("plans of a component have one title: want %q", title)
	}
	// Another plan has another address; the one of before says so, and cannot be approved.
	next := sendPlans(t, h, `"10.1.0.0/16"`, "cluster")
	if next == cluster {
		t.Errorf("two plans have the address %s", next)
	}
	golden(t, "testdata/stacks/run-replaced.html", mainOf(ask(h, http.MethodGet, cluster).Body.String()))
	checkLinks(t, h, cluster)
	if text := askText(h, cluster).Body.String(); !strings.Contains(text, "a newer plan of cluster took its place 2026-11-23T13:05:00Z: "+next+"\n") || strings.Contains(text, "approve-plan") {
		t.Errorf("a plan that was replaced:\n%s", text)
	}
}

// serveApplied returns a site where a cluster has sent a plan of a component of shop/eu and reports that ready, the address
// of the plan, and what sets the approval and the inputs that the output has since. The history has an approval of a time.
func serveApplied(t *testing.T, approved time.Time) (h http.Handler, address string, set func(approval, inputs string)) {
	t.Helper()
	w, s := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db")), stackFleet()
	reportStacks(w)
	const object = "Terraform/shop-eu/shop-eu-database"
	later := ledgerworld.Now.Add(time.Minute)
	w.ReportObject("prod", "east-1", object, ledger.Waiting, "fairlead-modules-prod@sha1:"+rootModule, planID)
	w.ReportObject("prod", "east-1", "HelmRelease/shop-eu/shop-eu-app", ledger.Ready, "1.2.0", "")
	w.ReportObjectAt(later, "prod", "east-1", object, ledger.Ready, "fairlead-modules-prod@sha1:"+rootModule, "")
	h = New(Options{Store: s, Fleet: w.View, Now: func() time.Time { return later }, OverdueAfter: time.Minute, History: func(context.Context) (history.Log, error) {
		return history.Log{Entries: []history.Entry{{Time: approved, Who: "Dana", Environment: "prod", Action: "approve", Title: actions.PlanTitle("prod", "shop/eu", "database", planID), Commit: c3}}}, nil
	}})
	report, err := tfplan.ReadReport([]byte(sentPlan("database", "feaec16826997273", `"x"`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := stackview.NewReportedPlan("east-1", report, ledgerworld.Now)
	if !s.AddPlan(sent) {
		t.Fatal("the plan is not kept")
	}
	return h, "/" + answer.PlanPath("prod", "shop/eu", sent.ID), func(approval, inputs string) {
		of := newStack()
		for i := range of.Components {
			if of.Components[i].Name == "database" {
				of.Components[i].Approval, of.Components[i].Inputs = approval, inputs
			}
		}
		s.SetStacks("prod", []stackview.Known{{Stack: stackview.Stack{Environment: "prod", Summary: of}, Merged: true}})
	}
}

// TestAppliedRun: the page of a plan that was applied says who approved it, and the stack leads to it; so does the page of
// one that the output has no more.
func TestAppliedRun(t *testing.T) {
	h, address, set := serveApplied(t, ledgerworld.Now.Add(30*time.Second))
	const inputs, byDana = "feaec16826997273", "approved by Dana 2026-11-23T13:05:30Z, with commit "
	for _, c := range []struct {
		name, approval, inputs string
		want                   []string
	}{
		{"applied", planID, inputs, []string{"plan of database of shop/eu in prod: applied\n", "east-1 reports database ready, since 2026-11-23T13:06:00Z\n", byDana + c3[:7] + "\n"}},
		{"the approval was removed", "", inputs, []string{"prod: ready\n", "and the output approves no plan of it, since"}},
		{"other inputs", "", "0000000000000000", []string{"prod: applied\n", byDana, "the output has another root module or other inputs of database since\n", "east-1 reported database ready 2026-11-23T13:06:00Z, before that\n", "inputs feaec16826997273"}},
	} {
		set(c.approval, c.inputs)
		text := askText(h, address).Body.String()
		for _, want := range c.want {
			if !strings.Contains(text, want) || strings.Contains(text, "fairlead approve-plan") {
				t.Errorf("%s: the page lacks %q:\n%s", c.name, want, text)
			}
		}
		html := ask(h, http.MethodGet, address).Body.String()
		if strings.Contains(html, "Approved by <bdi>Dana") != slices.ContainsFunc(c.want, func(want string) bool { return strings.HasPrefix(want, byDana) }) {
			t.Errorf("%s: who approved it:\n%s", c.name, mainOf(html))
		}
		if stack := askText(h, "/stacks/shop/eu?env=prod").Body.String(); !strings.Contains(stack, address) || !strings.HasSuffix(stack, "and the last plans of each component\n") {
			t.Errorf("%s: the stack does not lead to the plan:\n%s", c.name, stack)
		} else if !regexp.MustCompile(`(?m)^2026-11-23T13:05:00Z +- +app +ready +east-1`).MatchString(stack) {
			t.Errorf("%s: the runs lack the chart:\n%s", c.name, stack)
		}
	}
	h, address, set = serveApplied(t, ledgerworld.Now.Add(-time.Second))
	set("", "0000000000000000")
	if text := askText(h, address).Body.String(); strings.Contains(text, "Dana") || !strings.Contains(text, "prod: replaced\n") {
		t.Errorf("a plan that was sent after another one was approved:\n%s", text)
	}
}

// TestHostilePlans writes hostile texts into all that a plan brings.
func TestHostilePlans(t *testing.T) {
	for _, text := range hostile {
		s := &status.Store{}
		s.SetEnvironment(status.Environment{Name: text, State: status.InSync, Output: status.Output{Head: text}})
		c := stackfiles.ComponentSummary{Name: text, Object: text, Type: text, After: []string{}, Action: stackfiles.Apply, Plan: text, Inputs: text, Compared: true}
		s.SetStacks(text, []stackview.Known{{Stack: stackview.Stack{Environment: text, Summary: stackfiles.Summary{Stack: text, Namespace: text, Components: []stackfiles.ComponentSummary{c}}}, Merged: true}})
		change := tfplan.Change{Address: text, Previous: text, Deposed: text, Actions: []string{text}, After: map[string]any{text: text}}
		p := stackview.NewReportedPlan(text, tfplan.Report{Namespace: text, Name: text, PlanID: text, Annotations: map[string]string{stackfiles.InputsAnnotation: text}, Plan: &tfplan.Plan{Digest: text, Changes: []tfplan.Change{change}, Outputs: []tfplan.Change{change}}}, ledgerworld.Now)
		if !s.AddPlan(p) {
			t.Fatalf("the plan of %q is not kept", text)
		}
		src := newSite(Options{Store: s}).readState()
		src.StackReports = map[answer.StackObject][]stackview.Report{{Environment: text, Namespace: text, Name: text}: {{Cluster: text, Object: "Terraform/" + text, Phase: "waiting", Message: text, Plan: ledger.Plan{ID: text}}}}
		run, ok := src.Run(text, text, p.ID)
		stack, _ := src.Stack(text, text)
		if !ok || len(stack.Parts) != 1 || stack.Parts[0].Run == nil {
			t.Fatalf("the plan of %q is not known: %+v", text, stack)
		}
		for _, of := range []any{run, stack} {
			kept, err := page.Render(page.Frame{Path: "/stacks/x/y?" + text}, of)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := kept.For(page.Reader{})
			checkMarkup(t, text, string(body))
		}
	}
}

// answerRuns sends plans with all answers that there are, and gets those that are shown.
func (c checker) answerRuns(t *testing.T) {
	h := serveRuns(t)
	plan := sentPlan("database", "feaec16826997273", `"x"`)
	approved := strings.Replace(sentPlan("cluster", "feaec16826997273", `"x"`), `"approvePlan": ""`, `"approvePlan": "plan-x"`, 1)
	unset := New(Options{Webhooks: clusterHooks(nil, nil, nil)})
	broken := New(Options{Webhooks: webhook.New(webhook.Options{
		Secrets:     func(string) ([]string, error) { return nil, nil },
		ClusterKeys: func(string, time.Time) ([]string, error) { return nil, errors.New("no") },
		Plan:        func(string, tfplan.Report) bool { return false },
		Now:         func() time.Time { return noon },
	})})
	for _, r := range []struct {
		to        http.Handler
		key, body string
		length    int64 // instead of that of the body; 0 for that
		code      int
	}{
		{h, "key of east-1", plan, 0, 200},
		{h, "key of east-1", approved, 0, 200},
		{h, "key of east-1", "{}", 0, 400},
		{h, "key", plan, 0, 401},
		{h, "key of east-1", plan, 1 << 30, 413},
		{unset, "key of east-1", plan, 0, 404},
		{broken, "key of east-1", plan, 0, 503},
	} {
		request := httptest.NewRequest(http.MethodPost, "/webhooks/plans/east-1", strings.NewReader(r.body))
		request.Header.Set("Authorization", "Bearer "+r.key)
		if r.length > 0 {
			request.ContentLength = r.length
		}
		w := httptest.NewRecorder()
		r.to.ServeHTTP(w, request)
		if w.Code != r.code {
			t.Errorf("%d, want %d\n%s", w.Code, r.code, w.Body)
		}
		c.answer(t, "post", clusterPlans, w)
	}
	c.answer(t, "post", clusterPlans, ask(h, http.MethodPut, "/webhooks/plans/east-1"))
	address := sendPlans(t, h, `"`+strings.Repeat("x", 5000)+`"`, "database")
	c.answer(t, "get", api+"/environments/{name}", ask(h, http.MethodGet, api+"/environments/prod"))
	for path, target := range map[string]string{"/stacks/{team}/{stack}/runs/{run}": address, api + "/stacks/{team}/{stack}/runs/{run}": api + address} {
		first := ask(h, http.MethodGet, target)
		c.answer(t, "get", path, first)
		c.answer(t, "get", path, askTagged(h, target, first.Header().Get("ETag")))
	}
	c.answer(t, "get", "/stacks/{team}/{stack}/runs/{run}", askText(h, address))
	c.answer(t, "get", api+"/stacks/{team}/{stack}", ask(h, http.MethodGet, "/api/v1/stacks/shop/eu?env=prod"))
	c.answer(t, "get", api+"/stacks", ask(h, http.MethodGet, "/api/v1/stacks?env=prod"))
	priced := sendPlans(t, h, `"x"`, "cluster")
	c.answer(t, "get", api+"/stacks/{team}/{stack}/runs/{run}", ask(h, http.MethodGet, api+priced))
	sendPlans(t, h, `"y"`, "database")
	c.answer(t, "get", api+"/stacks/{team}/{stack}/runs/{run}", ask(h, http.MethodGet, api+address))
	applied, of, set := serveApplied(t, noon)
	for _, inputs := range []string{"feaec16826997273", "0000000000000000"} {
		set(planID, inputs)
		c.answer(t, "get", api+"/stacks/{team}/{stack}/runs/{run}", ask(applied, http.MethodGet, api+of))
		c.answer(t, "get", api+"/stacks/{team}/{stack}", ask(applied, http.MethodGet, "/api/v1/stacks/shop/eu?env=prod"))
	}
}

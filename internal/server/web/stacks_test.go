package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// rootModule is the commit of the root modules of tests, and planID the plan that is made at it.
const rootModule, planID = "89abcdef0123456789abcdef0123456789abcdef", "plan-fairlead-modules-prod-89abcdef01"

// newComponent returns a component of Terraform whose plans a person approves.
func newComponent(name string, after ...string) stackfiles.ComponentSummary {
	return stackfiles.ComponentSummary{
		Name: name, Object: "shop-eu-" + name, Type: "terraform", After: append([]string{}, after...), Action: stackfiles.Apply, Plan: planID, Inputs: "feaec16826997273",
		Module: &stackfiles.ModuleSource{Repo: "https://git.example.com/org/gitops", Branch: "fairlead-modules-prod", Commit: rootModule, Path: "terraform/shop/" + name},
	}
}

// newStack returns the stack shop/eu: of six components, each with plans and approvals of another kind.
func newStack() stackfiles.Summary {
	network, cluster, database, legacy, dns := newComponent("network"), newComponent("cluster", "network"), newComponent("database", "network"), newComponent("legacy"), newComponent("dns")
	network.Approval, network.Protected = "auto", true
	cluster.Compared = true
	dns.Approval, dns.Compared, dns.Digest = planID, true, "sha256:"+strings.Repeat("ab", 32)
	legacy.Unversioned, legacy.Action = true, stackfiles.Suspend
	app := stackfiles.ComponentSummary{Name: "app", Object: "shop-eu-app", Type: "helm", After: []string{"cluster", "database"}, Action: stackfiles.Apply}
	return stackfiles.Summary{Stack: "shop/eu", Namespace: "shop-eu", Blueprint: "shop", Active: true, Components: []stackfiles.ComponentSummary{dns, legacy, network, cluster, database, app}}
}

// stackFleet returns the store of fleet with groups of prod, and with stacks: shop/eu in prod and in stage, of which stage has not merged
// it yet, one that a problem stops, one that is torn down, and one whose file is deleted.
func stackFleet() *status.Store {
	s := fleet()
	s.SetEnvironment(status.Environment{Name: "stacks", State: status.InSync, Reason: "the stack shop/eu is destroyed", Teardowns: "the stack shop/eu is destroyed", HasStacks: true})
	at := problem.Pos{Layer: "stacks", File: "eu.yaml", Line: 3}
	known := func(environment string, of stackfiles.Summary, merged bool) stackview.Known {
		return stackview.Known{Stack: stackview.Stack{Environment: environment, Summary: of}, Merged: merged, Written: at}
	}
	stopped := known("stage", stackfiles.Summary{Stack: "shop/us", Components: []stackfiles.ComponentSummary{}}, false)
	stopped.Problems.Addf(problem.Pos{Layer: "stage", File: "stacks/us.yaml", Line: 9}, "Environment/shop-us", "name it in dependsOn", `component "app" needs "cash", which is not there`)
	stopped.Stopped = stopped.Problems[0].String()
	gone := newComponent("queue")
	gone.Object, gone.Action, gone.Approval = "shop-old-queue", stackfiles.Destroy, "auto"
	old := known("prod", stackfiles.Summary{Stack: "shop/old", Namespace: "shop-old", Teardown: true, Components: []stackfiles.ComponentSummary{gone}}, true)
	old.Written, old.Leaves = problem.Pos{}, true
	s.SetStacks("prod", []stackview.Known{known("prod", newStack(), true), old})
	s.SetStacks("stage", []stackview.Known{known("stage", newStack(), false), stopped})
	s.SetStacks("dev", []stackview.Known{})
	c := chain()
	for i := range c.Stages {
		if c.Stages[i].Environment == "prod" {
			c.Stages[i].Groups = map[string]string{"east-1": "canary", "east-2": "canary", "west-1": "second", "east-4": "second"}
			c.Stages[i].Proof = says(gate.Fail, "proof", "canary: 1 of 2 clusters ready", says(gate.Fail, "rollout", "canary: 1 of 2 clusters ready (50%, wants 100%): 1 failed (east-2: timeout waiting for Deployment/x)"))
		}
	}
	s.SetPromotions(c)
	prod, _ := s.Snapshot().FindEnvironment("prod")
	prod.Inputs = append(prod.Inputs, status.Input{Layer: "stacks", Repo: "https://github.com/org/stacks", Commit: c1})
	prod.PlanPulls = map[string]*status.Pull{"shop/eu dns": {Number: 44, Title: "Plan shop/eu/dns in prod again: it has drifted", URL: "https://github.com/org/control-plane/pull/44"}}
	s.SetEnvironment(prod)
	stage, _ := s.Snapshot().FindEnvironment("stage")
	stage.Proposed = &impact.Report{StackChanges: []impact.StackChange{{Stack: "shop/eu", Components: []impact.ComponentChange{
		{Name: "network", After: []string{}, Change: impact.ComponentAdded}, {Name: "database", After: []string{"network"}, Change: impact.ComponentDestroyed, Waits: true}, {Name: "app", After: []string{}}}}}}
	s.SetEnvironment(stage)
	return s
}

// reportStacks has clusters report the components of shop/eu and shop/old in prod.
func reportStacks(w *ledgerworld.World) {
	now := "fairlead-modules-prod@sha1:" + rootModule
	for _, r := range []struct {
		object  string
		phase   ledger.Phase
		target  string
		message string
	}{
		{"Terraform/shop-eu/shop-eu-network", ledger.Ready, now, ""},
		{"Terraform/shop-eu/shop-eu-dns", ledger.Drifted, now, "aws_route53_record.www has changed"},
		{"Terraform/shop-eu/shop-eu-cluster", ledger.Waiting, now, planID},
		{"Kustomization/shop-eu/shop-eu-app", ledger.Progressing, now, ""},
		{"Terraform/shop-old/shop-old-queue", ledger.Ready, now, ledgerworld.Destroyed},
	} {
		w.ReportObject("prod", "east-1", r.object, r.phase, r.target, r.message)
	}
}

func openStacks(t *testing.T) http.Handler {
	t.Helper()
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	reportStacks(w)
	return New(Options{Store: stackFleet(), Fleet: w.View, Now: func() time.Time { return ledgerworld.Now }, OverdueAfter: time.Minute, Explain: explainNothing, Compare: compareNothing, History: pastActions})
}

// stackPages are the pages about stacks.
var stackPages = []string{"/stacks", "/stacks?env=prod&state=bad", "/stacks?q=zzz", "/stacks/shop/eu?env=prod", "/stacks/shop/eu?env=stage", "/stacks/shop/us", "/stacks/shop/old", "/environments/prod", "/search?q=shop", "/"}

// TestStacksGolden compares what the pages about stacks say.
func TestStacksGolden(t *testing.T) {
	full, reported := open(stackFleet()), openStacks(t)
	for _, c := range []struct {
		h            http.Handler
		target, path string
	}{
		{full, "/stacks", "list.html"},
		{reported, "/stacks?env=prod", "list-reported.html"},
		{reported, "/stacks?q=zzz", "none-like-that.html"},
		{open(&status.Store{}), "/stacks", "empty.html"},
		{open(fleet()), "/stacks", "unknown.html"},
		{full, "/stacks/shop/eu?env=prod", "stack.html"},
		{reported, "/stacks/shop/eu?env=prod", "stack-reported.html"},
		{reported, "/stacks/shop/eu?env=stage", "stack-proposed.html"},
		{full, "/stacks/shop/us", "stack-stopped.html"},
		{reported, "/stacks/shop/old", "stack-gone.html"},
		{full, "/stacks/shop/ue", "missing.html"},
		{reported, "/search?q=eu", "search.html"},
		{reported, "/environments/prod", "../fleet/groups.html"},
	} {
		golden(t, "testdata/stacks/"+c.path, mainOf(ask(c.h, http.MethodGet, c.target).Body.String()))
	}
}

// TestStackPages: the pages of stacks are made from their answers alone, have no inline style or script, and lead
// to pages; what waits for a person is on the overview, and links lead to it.
func TestStackPages(t *testing.T) {
	h := openStacks(t)
	for _, address := range stackPages {
		body := ask(h, http.MethodGet, address).Body.String()
		for _, no := range []string{" style=", "<style", "<script>", " onclick", "ZgotmplZ", "<no value>"} {
			if strings.Contains(body, no) {
				t.Errorf("%s is in %s", no, address)
			}
		}
		checkLinks(t, h, address)
	}
	s := newSite(Options{Store: stackFleet()})
	src := s.readState()
	src.StackReports = map[answer.StackObject][]stackview.Report{{Environment: "prod", Namespace: "shop-eu", Name: "shop-eu-database"}: {{Cluster: "east-1", Object: "Terraform/shop-eu/shop-eu-database", Phase: "failed", Message: "no such module"}}}
	for _, address := range stackPages[:7] {
		path, query := splitAddress(t, address)
		f := s.findAt(t.Context(), src, s.find(&url.URL{Path: path, RawQuery: query.Encode()}))
		data, err := json.Marshal(f.answer)
		read := reflect.New(reflect.TypeOf(f.answer))
		if err != nil || json.Unmarshal(data, read.Interface()) != nil {
			t.Fatalf("%s: %v\n%s", address, err, data)
		}
		render := func(of any) string {
			kept, err := page.Render(page.Frame{Path: path}, shownAt(path, of, src.Names(), query))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := kept.For(page.Reader{})
			return string(body)
		}
		if diff := cmp.Diff(render(f.answer), render(read.Elem().Interface())); diff != "" {
			t.Errorf("%s says what its answer does not (-page +answer):\n%s", address, diff)
		}
	}
	for _, c := range []struct{ target, location, body string }{
		{"/stacks/shop/eu", "./../../stacks?q=shop%2Feu", ""},
		{"/stacks/shop/old", "", "shop/old"},
		{"/stacks/shop/old?env=stage", "", "Environment stage has no stack shop/old."},
		{"/stacks/shop/old?env=pord", "", "Did you mean"},
		{"/stacks?env=pord", "", "Did you mean"},
		{"/stacks/shop/odl", "", `Did you mean <a href="../../stacks/shop/old">`},
		{"/search?q=shop/old", "./stacks/shop/old", ""},
		{"/", "", "shop/eu: dns has drifted: aws_route53_record.www has changed; merge pull request 44 of the control plane for another plan"},
		{"/stacks/shop/eu?env=prod", "", `<a href="https://github.com/org/control-plane/pull/44">the pull request</a>`},
		{"/", "", "shop/eu: the plan of cluster waits for approval"},
		{"/", "", `<a href="./stacks/shop/us?env=stage">the stack</a>`},
		{"/api/v1/stacks/shop/eu?env=prod", "", `"mayApprove": true`},
	} {
		w := ask(h, http.MethodGet, c.target)
		if w.Header().Get("Location") != c.location || !strings.Contains(strings.ReplaceAll(w.Body.String(), "<bdi>", ""), c.body) {
			t.Errorf("%s leads to %q, and does not say %s:\n%s", c.target, w.Header().Get("Location"), c.body, mainOf(w.Body.String()))
		}
	}
}

// TestStackWaits: where all that a stack needs is the approval of one plan, the overview says whose.
func TestStackWaits(t *testing.T) {
	s := &status.Store{}
	s.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK})
	s.SetEnvironment(status.Environment{Name: "prod", State: status.InSync, Assignments: 1})
	s.SetStacks("prod", []stackview.Known{{Stack: stackview.Stack{Environment: "prod", Summary: newStack()}, Merged: true}})
	src := newSite(Options{Store: s}).readState()
	waits := func(names ...string) {
		src.StackReports = map[answer.StackObject][]stackview.Report{}
		for _, name := range names {
			object := "shop-eu-" + name
			src.StackReports[answer.StackObject{Environment: "prod", Namespace: "shop-eu", Name: object}] = []stackview.Report{{Cluster: "c", Object: "Terraform/shop-eu/" + object, Phase: "waiting", Plan: ledger.Plan{ID: planID}}}
		}
	}
	for _, c := range []struct {
		waiting   []string
		reason    string
		component string
	}{
		{[]string{"cluster"}, "shop/eu: the plan of cluster waits for approval", "cluster"},
		{[]string{"cluster", "database"}, "shop/eu: the plans of cluster and database wait for approval", ""},
	} {
		waits(c.waiting...)
		needs := src.Needs()
		if len(needs) != 1 || needs[0].Reason != c.reason || needs[0].Component != c.component || needs[0].State.Tone != answer.Waiting || needs[0].Stack != "shop/eu" {
			t.Errorf("with %q waiting, what needs a person is %+v", c.waiting, needs)
		}
	}
	waits()
	if needs := src.Needs(); len(needs) > 0 {
		t.Errorf("without a report, %+v needs a person", needs)
	}
}

// TestHostileStacks writes hostile texts into all that the pages about stacks show.
func TestHostileStacks(t *testing.T) {
	for _, text := range hostile {
		s := &status.Store{}
		s.SetEnvironment(status.Environment{Name: text, State: status.Proposed, Pull: &status.Pull{Number: 1, Title: text, URL: text}, Inputs: []status.Input{{Layer: text, Repo: text, Commit: text}},
			Proposed: &impact.Report{StackChanges: []impact.StackChange{{Stack: text, Components: []impact.ComponentChange{{Name: text, Change: impact.ComponentState(text)}}}}}})
		c := stackfiles.ComponentSummary{Name: text, Object: text, Type: text, After: []string{text}, Action: stackfiles.Action(text), Plan: text, Inputs: text, Module: &stackfiles.ModuleSource{Repo: text, Branch: text, Commit: text, Path: text}}
		other := c
		other.Name = text + "2"
		k := stackview.Known{Stack: stackview.Stack{Environment: text, Summary: stackfiles.Summary{Stack: text, Namespace: text, Blueprint: text, Components: []stackfiles.ComponentSummary{c, other}}}, Merged: true, Written: problem.Pos{Layer: text, File: text, Line: 1}}
		k.Problems.Addf(k.Written, text, text, "%s", text)
		s.SetStacks(text, []stackview.Known{k})
		src := newSite(Options{Store: s}).readState()
		src.StackReports = map[answer.StackObject][]stackview.Report{{Environment: text, Namespace: text, Name: text}: {{Cluster: text, Object: "Terraform/" + text, Phase: text, Message: text}}}
		one, ok := src.Stack(text, text)
		if !ok {
			t.Fatalf("%q is not known", text)
		}
		one.Elsewhere = []string{text}
		for _, of := range []any{shownAt(stacksPath, src.Stacks(answer.StackFilter{}), []string{text}, url.Values{"q": {text}}), one, src.Search(text), src.Overview()} {
			kept, err := page.Render(page.Frame{Path: "/stacks/x/y?" + text}, of)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := kept.For(page.Reader{Name: text, Waiting: text})
			checkMarkup(t, text, string(body))
		}
	}
}

package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestComponentStatus: the status of a component by what clusters report of its objects.
func TestComponentStatus(t *testing.T) {
	const (
		now    = "fairlead-modules-dev@sha1:aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
		before = "fairlead-modules-dev@sha1:1111111111bbbbbbbbbbccccccccccdddddddddd"
	)
	report := func(cluster, kind, phase, revision, message string) fleetview.Placement {
		return fleetview.Placement{Cluster: cluster, Object: kind + "/checkout/db", Phase: phase, Revision: revision, Message: message}
	}
	for _, c := range []struct {
		name    string
		plan    string
		reports []fleetview.Placement
		want    string // the status, and the cluster
	}{
		{"not reported", "plan-x-aaaaaaaaaa", nil, ""},
		{"ready", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Terraform", "ready", now, ""), report("a", "Kustomization", "ready", "dev@sha1:1", "")}, "ready a"},
		{"ready with the root module of before", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Terraform", "ready", before, ""), report("a", "Kustomization", "progressing", "dev@sha1:1", "")}, "behind a"},
		{"a Kustomization that is not ready yet", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Kustomization", "progressing", "", ""), report("a", "Terraform", "ready", now, "")}, "progressing a"},
		{"a plan that waits", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Kustomization", "failed", "", "health check failed"), report("a", "Terraform", "failed", before, "waits for approval of plan-x-aaaaaaaaaa")}, "waits for approval a"},
		{"drift", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Terraform", "failed", now, "drift: aws_instance.a")}, "drifted a"},
		{"another plan than the approved one", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Kustomization", "failed", "", "health check failed"), report("a", "Terraform", "failed", before, "the plan differs from the approved one: it is sha256:1, and sha256:2 was approved")}, "plan differs a"},
		{"a failure", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Terraform", "failed", now, "error running Init: drift: no")}, "failed a"},
		{"without an agent", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Kustomization", "failed", "", "health check failed")}, "failed a"},
		{"a chart", "", []fleetview.Placement{report("a", "HelmRelease", "ready", "1.2.0", ""), report("a", "Kustomization", "ready", "", "")}, "ready a"},
		{"suspended", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Terraform", "suspended", now, "")}, "suspended a"},
		{"two clusters, the worst one counts", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("b", "Terraform", "ready", now, ""), report("a", "Terraform", "progressing", now, "")}, "progressing a"},
		{"two clusters, in the same state", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("b", "Terraform", "ready", now, ""), report("a", "Terraform", "ready", now, "")}, "ready a"},
		{"a phase that is none of ours", "plan-x-aaaaaaaaaa", []fleetview.Placement{report("a", "Terraform", "other", now, "")}, "unknown a"},
	} {
		got := findComponentStatus(stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: c.plan}, c.reports)
		if text := strings.TrimSpace(got.Status + " " + got.Cluster); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
		got = findComponentStatus(stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: c.plan, Action: stackfiles.Destroy}, c.reports)
		if text := strings.TrimSpace(got.Status + " " + got.Cluster); text != strings.Replace(c.want, "ready", "destroyed", 1) {
			t.Errorf("%s, being destroyed: %q, where a component that stays is %q", c.name, text, c.want)
		}
	}
}

// TestStackStatus: the status of a stack in few words.
func TestStackStatus(t *testing.T) {
	stack := environmentStack{Environment: "dev", Summary: stackfiles.Summary{Namespace: "n", Components: []stackfiles.ComponentSummary{{Object: "a"}, {Object: "b"}, {Object: "c"}}}}
	for _, c := range []struct{ a, b, c, want string }{
		{"ready", "ready", "ready", "ready"},
		{"ready", "failed", "ready", "1 failed, 2 ready"},
		{"waits for approval", "", "", "1 waits for approval, 2 not reported"},
		{"", "", "", "not reported"},
	} {
		all := componentStatuses{}
		for object, status := range map[string]string{"a": c.a, "b": c.b, "c": c.c} {
			all[componentKey{"dev", "n", object}] = componentStatus{Status: status}
		}
		if got := all.summarize(stack); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestReadStatuses asks a ledger of a few clusters, some of which have a chart and a Kustomization.
func TestReadStatuses(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	server := httptest.NewServer(web.New(web.Options{Fleet: w.View}))
	defer server.Close()
	stack := func(environment, namespace, object string) environmentStack {
		return environmentStack{Environment: environment, Summary: stackfiles.Summary{Namespace: namespace, Components: []stackfiles.ComponentSummary{{Object: object}}}}
	}
	var out bytes.Buffer
	a := &app{stdout: display.NewStream(&out), stderr: display.NewStream(&out), format: "text"}
	for _, c := range []struct {
		name  string
		stack environmentStack
		want  string
	}{
		{"a chart", stack("prod", "shop", "payments"), "ready east-1"},
		{"the worst of several clusters", stack("prod", "flux-system", "checkout-api"), "failed west-1"},
		{"in another environment", stack("stage", "flux-system", "checkout-api"), "ready stage-1"},
		{"in another namespace", stack("prod", "other", "payments"), ""},
		{"that nobody reports", stack("prod", "shop", "none"), ""},
		{"in an environment that nobody reports", stack("none", "shop", "payments"), ""},
	} {
		s := &stackCommand{commandContext: newCommandContext(a)}
		s.daemonURL = server.URL
		all, err := s.readStatuses(t.Context(), []environmentStack{c.stack})
		if err != nil {
			t.Fatal(err)
		}
		status := all[c.stack.key(c.stack.Components[0])]
		if got := strings.TrimSpace(status.Status + " " + status.Cluster); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	var asked int
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		server.Config.Handler.ServeHTTP(w, r)
	}))
	defer counting.Close()
	many := []environmentStack{stack("prod", "shop", "payments"), stack("stage", "flux-system", "checkout-api"), stack("prod", "shop", "none")}
	for i := range 100 {
		many[0].Components = append(many[0].Components, stackfiles.ComponentSummary{Object: fmt.Sprint("checkout-prod-", i)})
	}
	once := &stackCommand{commandContext: newCommandContext(a)}
	once.daemonURL = counting.URL
	all, err := once.readStatuses(t.Context(), many)
	if err != nil || asked != 1 || all.summarize(many[1]) != "ready" || all[many[0].key(many[0].Components[0])].Cluster != "east-1" {
		t.Errorf("of %d stacks: %d questions, %v (%v)", len(many), asked, all, err)
	}
	silent := &stackCommand{commandContext: newCommandContext(a)}
	silent.daemonURL = "http://127.0.0.1:1"
	if _, err := silent.readStatuses(t.Context(), []environmentStack{stack("prod", "shop", "payments")}); err == nil {
		t.Error("a daemon that is named and does not answer is no error")
	}
	t.Chdir(t.TempDir())
	nobody := &stackCommand{commandContext: newCommandContext(a)}
	if all, err := nobody.readStatuses(t.Context(), nil); all != nil || err != nil {
		t.Errorf("without settings: %v, %v", all, err)
	}
}

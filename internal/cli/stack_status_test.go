package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestReadStatuses asks a ledger of a few clusters, some of which have a chart and a Kustomization.
func TestReadStatuses(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	server := httptest.NewServer(web.New(web.Options{Fleet: w.View}))
	defer server.Close()
	stack := func(environment, namespace, object string) environmentStack {
		return newEnvironmentStack(environment, stackfiles.Summary{Namespace: namespace, Components: []stackfiles.ComponentSummary{{Object: object}}})
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
	for url, want := range map[string]string{server.URL: "payments: ready\n", "": "payments\n"} {
		s := &stackCommand{commandContext: newCommandContext(a)}
		s.daemonURL = url
		drawn := stack("prod", "shop", "payments")
		drawn.Components[0].Name, drawn.Components[0].Action = "payments", stackfiles.Apply
		_, status, err := s.findLabels(t.Context(), drawn)
		if err != nil {
			t.Fatal(err)
		}
		if got := drawn.graphText(status); got != want {
			t.Errorf("the graph with --url %q is %q, want %q", url, got, want)
		}
	}
	if graph, _, err := newStack(a).Find([]string{"graph"}); err != nil || graph.Flags().Lookup("url") == nil {
		t.Errorf("stack graph does not take --url (%v)", err)
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

// TestReadDestroyed: what is ready is not destroyed before the change of the output is merged that destroys it.
func TestReadDestroyed(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	server := httptest.NewServer(web.New(web.Options{Fleet: w.View}))
	defer server.Close()
	repos := gittest.ServeGit(t)
	repos.Create("out")
	work := repos.Work(t, "out")
	work.Write("README.md", "nothing is destroyed")
	work.Commit("first")
	work.Push("main")
	for output, want := range map[*model.GitOpsRepo]string{
		{RepoRef: model.RepoRef{Repo: repos.Dir("out"), Branch: "main"}}:                "ready",
		{RepoRef: model.RepoRef{Repo: filepath.Join(t.TempDir(), "x"), Branch: "main"}}: "unknown",
	} {
		var out bytes.Buffer
		a := &app{stdout: display.NewStream(&out), stderr: display.NewStream(&out), format: "text"}
		s := &stackCommand{commandContext: newCommandContext(a)}
		s.daemonURL = server.URL
		stack := newEnvironmentStack("prod", stackfiles.Summary{Stack: "shop/prod", Namespace: "shop", Components: []stackfiles.ComponentSummary{{Object: "payments", Action: stackfiles.Destroy}}})
		stack.output = output
		all, err := s.readStackStatuses(t.Context(), []environmentStack{stack})
		if got := all[stack.key(stack.Components[0])].Status; err != nil || got != want || strings.Contains(out.String(), "is not known") != (want == "unknown") {
			t.Errorf("with the output %s it is %q, want %q: %v\n%s", output.Repo, got, want, err, out.String())
		}
	}
}

package loop_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/charttest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// buildChart is the argument with which this test is the process that renders a chart.
const buildChart = "build-chart"

// lookInside has a daemon look into sources that move.
func lookInside(t *testing.T, patience time.Duration) func(*loop.Options) {
	return func(o *loop.Options) {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		o.Contents = fetch.New(ctx, fetch.Options{
			Dir: t.TempDir(), Guard: func(string) (bool, error) { return false, nil }, Builder: []string{os.Args[0], buildChart},
			RenderTime: time.Minute, Patience: patience, Pauses: []time.Duration{}, Now: o.Now,
		})
	}
}

// deploy has the sample's workload run a version of a chart, or a commit of a repository.
func (g *guarded) deploy(reconciler, manifests string) {
	g.world.Helper()
	targets := ""
	for _, environment := range guardedEnvironments {
		targets += fmt.Sprintf("    - {name: web, environment: %s, manifests: {%s}}\n", environment, manifests)
	}
	g.commitNow("main", "deploy "+manifests, map[string]string{"workloads/hello.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: hello, labels: {app: hello}}\nspec:\n  deploymentTargets:\n" + targets})
	for _, environment := range guardedEnvironments {
		for _, clusterType := range []string{"cloud", "edge"} {
			file := "cluster-types/" + clusterType + ".yaml"
			text := gittest.Show(g.world, g.server.Dir(githubCP), environment, file)
			before, rest, _ := strings.Cut(text, "reconciler: ")
			_, after, _ := strings.Cut(rest, "\n")
			if changed := before + "reconciler: " + reconciler + "\n" + after; changed != text {
				g.commitNow(environment, "reconciler", map[string]string{file: changed})
			}
		}
	}
}

const (
	shopDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {replicas: {{ .Values.replicas | default 1 }}}\n"
	shopDatabase   = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\n"
)

// TestChartDropsStatefulSet: a new version of a chart says what it removes, and a person
// approves that.
func TestChartDropsStatefulSet(t *testing.T) {
	charts := charttest.Serve(t, map[string][]byte{
		"1.10.0": charttest.Of(t, "1.10.0", shopDeployment, shopDatabase), "1.11.0": charttest.Of(t, "1.11.0", shopDeployment+"# new\n", shopDatabase, strings.ReplaceAll(shopDeployment, "name: shop", "name: cache")),
		"99.0.0": charttest.Of(t, "99.0.0", shopDeployment),
	})
	g := newGuarded(t, "git", "direct")
	g.Close()
	g.daemon = g.begin(t.TempDir(), lookInside(t, time.Minute))
	chart := func(version string) {
		g.deploy("flux-helm", "repo: \""+charts.URL+"\", chart: shop, version: "+version)
	}
	chart("1.10.0")
	g.settle(guardedEnvironments...)
	for _, name := range guardedEnvironments { // the first version of it replaces another source
		if e := g.state(name); e.State != status.InSync {
			g.byHand(g.pull(name).Number)
			g.settle(guardedEnvironments...)
		}
	}
	g.arrives(guardedEnvironments...)

	chart("1.11.0")
	g.settle(guardedEnvironments...)
	added := g.pull("prod")
	if !strings.Contains(added.Body, "Deployment/cache added") || strings.Contains(added.Body, "removed") {
		t.Errorf("it does not say what the version adds:\n%s", added.Body)
	}

	chart("~1.11")
	g.settle(guardedEnvironments...)
	e := g.state("dev")
	if len(e.Withheld) != 1 || e.Withheld[0].Cause != "removals" || !strings.Contains(e.Reason, "may remove StatefulSet/db of hello-web") {
		t.Errorf("with a range, dev is %s: %s", e.State, e.Reason)
	}

	chart("99.0.0")
	g.settle(guardedEnvironments...)
	e = g.state("dev")
	if len(e.Withheld) != 1 || e.Withheld[0].Cause != "removals" || e.State != status.Proposed {
		t.Fatalf("dev is %s: %s", e.State, e.Reason)
	}
	p := g.pull("dev")
	for _, text := range []string{"StatefulSet/db removed", "StatefulSet/db of hello-web", "Deployment/cache removed"} {
		if !strings.Contains(p.Body, text) {
			t.Errorf("the pull request lacks %q:\n%s", text, p.Body)
		}
	}
	if !strings.Contains(p.Title, "REMOVE 2 objects from hello") {
		t.Errorf("the title is %q", p.Title)
	}
	g.acknowledge("dev", e.Withheld[0].Acknowledge)
	g.settle(guardedEnvironments...)
	if e := g.state("dev"); e.State != status.InSync {
		t.Errorf("after its approval, dev is %s: %s", e.State, e.Reason)
	}
}

// TestCommitMoves: a commit that an application moves to says what changes in its folder. One that
// cannot be read says so in a sentence, and is merged as before.
func TestCommitMoves(t *testing.T) {
	g := newGuarded(t, "git", "direct")
	g.server.Create("app")
	app := g.server.Work(t, "app")
	push := func(image string) string {
		app.Write("prod/app.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {template: {spec: {containers: [{name: app, image: \""+image+"\"}]}}}\n")
		id := app.Commit(image)
		app.Push("main")
		return id
	}
	g.Close()
	g.daemon = g.begin(t.TempDir(), lookInside(t, time.Minute))
	move := func(commit string) forge.Pull {
		g.deploy("flux", "repo: \""+g.server.URL("app")+"\", commit: \""+commit+"\", path: ./prod")
		g.settle(guardedEnvironments...)
		return g.pull("dev")
	}
	if p := move(push("app:1")); p.State == forge.Open {
		g.byHand(p.Number)
	}
	g.settle(guardedEnvironments...)
	p := move(push("app:2"))
	if p.State != forge.Merged || !strings.Contains(p.Body, "app:1 -> app:2") || !strings.Contains(p.Title, "source revision and image in hello") || strings.Contains(p.Body, "not compared") {
		t.Errorf("%s, %q:\n%s", p.State, p.Title, p.Body)
	}
	p = move(strings.Repeat("0", 40))
	if p.State != forge.Merged || !strings.Contains(p.Body, "does not exist in its source") {
		t.Errorf("%s, %q:\n%s", p.State, p.Title, p.Body)
	}
}

// TestSlowChart: a source that does not answer delays nobody, and its pull request is amended
// when it does.
func TestSlowChart(t *testing.T) {
	ready := make(chan struct{})
	good := charttest.Serve(t, map[string][]byte{"1.10.0": charttest.Of(t, "1.10.0", shopDeployment), "1.11.0": charttest.Of(t, "1.11.0", shopDeployment, shopDatabase)})
	slow := newGate(t, good.URL, ready)
	g := newGuarded(t, "git", "direct")
	g.Close()
	var contents *fetch.Fetcher
	g.daemon = g.begin(t.TempDir(), lookInside(t, 0), func(o *loop.Options) { contents = o.Contents })
	chart := func(version string) { g.deploy("flux-helm", "repo: \""+slow+"\", chart: shop, version: "+version) }
	chart("1.10.0")
	g.settle(guardedEnvironments...)
	for range guardedEnvironments {
		for _, name := range guardedEnvironments {
			if p := g.pull(name); p.State == forge.Open {
				g.byHand(p.Number)
			}
		}
		g.settle(guardedEnvironments...)
	}
	g.arrives(guardedEnvironments...)

	chart("1.11.0")
	g.settle(guardedEnvironments...)
	first := g.pull("dev")
	if e := g.state("dev"); len(e.Withheld) != 1 || e.Withheld[0].Cause != "sources" || !strings.Contains(first.Body, "is being fetched") {
		t.Fatalf("dev is %s: %s\n%s", e.State, e.Reason, first.Body)
	}
	g.pass(time.Minute)
	if again := g.pull("dev"); again.Body != first.Body || again.Title != first.Title {
		t.Error("the pull request changes although nothing has")
	}
	close(ready)
	contents.Wait()
	g.pass(10 * time.Minute)
	if now := g.pull("dev"); now.Number != first.Number || !strings.Contains(now.Body, "StatefulSet/db added") || now.State != forge.Merged {
		t.Errorf("it is %s:\n%s", now.State, now.Body)
	}
}

// newGate returns the URL of a server that redirects to another one once it is ready.
func newGate(t *testing.T, to string, ready <-chan struct{}) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
			http.Redirect(w, r, to+r.URL.Path, http.StatusFound)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

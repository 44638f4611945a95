package daemon_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/giteatest"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// callLog is a proxy of a server's API that notes the calls.
type callLog struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
}

func logCalls(t *testing.T, server string) *callLog {
	t.Helper()
	to, err := url.Parse(server)
	must(t, err)
	pass, l := httputil.NewSingleHostReverseProxy(to), &callLog{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := r.URL.Query().Get("page"); page == "" || page == "1" { // this server's pages are short, so that lists have several
			l.mu.Lock()
			l.calls = append(l.calls, r.Method+" "+r.URL.RequestURI())
			l.mu.Unlock()
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// take returns the calls since it was last called.
func (l *callLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.calls
	l.calls = nil
	return taken
}

// cycler runs cycles of a daemon one by one, by a clock that goes on a minute with each.
type cycler struct {
	*flow
	loop  *loop.Loop
	store *status.Store
	now   time.Time
}

// newCycler makes one that calls the API at a URL, and that has what clusters have reported to a file; "" for
// none.
func (f *flow) newCycler(api, reports string) *cycler {
	f.Helper()
	settings, problems := config.Parse("fairlead.yaml", []byte(f.settingsText(api, f.TempDir())), f.TempDir(), func(string) string { return f.server.Token })
	if problems.Stops() {
		f.Fatal(problems)
	}
	c := &cycler{flow: f, store: &status.Store{}, now: time.Now()}
	inbox, err := readReports(reports, c.now)
	must(f.T, err)
	c.loop, err = loop.New(f.Context(), loop.Options{
		Inbox:    inbox,
		Settings: settings, Store: c.store, Now: func() time.Time { return c.now }, Random: func() float64 { return 0 },
		Logger: slog.New(slog.NewTextHandler(f.log, nil)),
	})
	must(f.T, err)
	f.Cleanup(c.loop.Close)
	return c
}

// settingsText returns the settings of a daemon with a data folder that calls the API at a URL. Its token is in
// a variable of the environment.
func (f *flow) settingsText(api, data string) string {
	return fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: %q\nwrite: true\nforges: [{host: %q, kind: gitea, api: %q}]\nremotes: [{url: %q, token: {env: TOKEN}}]\n",
		f.server.URL+"/"+f.cp+".git", data, strings.TrimPrefix(f.server.URL, "http://"), api, f.server.URL+"/")
}

func (c *cycler) cycles(n int) {
	c.Helper()
	for range n {
		c.now = c.now.Add(time.Minute)
		must(c.T, c.loop.Cycle(c.Context()))
	}
}

// merge has a person merge the pull request of an environment.
func (c *cycler) merge(environment string) {
	c.Helper()
	e, _ := c.store.Snapshot().FindEnvironment(environment)
	if e.Pull == nil {
		c.Fatalf("%s is %s: %s", environment, e.State, e.Reason)
	}
	c.server.Settle(c.out)
	c.server.Merge(c.out, e.Pull.Number)
}

// report has Flux report that the clusters of an environment run its output.
func (c *cycler) report(environment string) {
	c.Helper()
	head, _, _ := strings.Cut(gittest.Git(c, c.TempDir(), "ls-remote", c.server.Remote(c.out), "refs/heads/"+environment), "\t")
	c.server.SayStatus(c.out, "flux", head, giteatest.Status{Context: "kustomization/fleet/1111", State: "success", Description: "ready"})
}

// TestGiteaCalls counts the calls to the API of a real Gitea, and holds the last column of the table
// of docs/reference/forges.md to the counts. TestCalls of package loop does so for the others.
func TestGiteaCalls(t *testing.T) {
	f := newFlow(t, map[string]string{".fairlead/promotion.yaml": `apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
    - {name: dev}
    - {name: stage, after: [dev]}
`}, "dev", "stage")
	f.server.UserToken("flux")
	api := logCalls(t, f.server.URL)
	c := f.newCycler(api.URL, "")
	page, err := os.ReadFile("../../../docs/reference/forges.md")
	must(t, err)
	counted := func(event string, n int) {
		t.Helper()
		api.take()
		c.cycles(n)
		calls := api.take()
		t.Logf("%s:\n%s", event, strings.Join(calls, "\n"))
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| "+event+" |") && strings.HasSuffix(line, fmt.Sprintf(" | %d |\n", len(calls))) {
				return
			}
		}
		t.Errorf("docs/reference/forges.md lacks a row for %q that ends in %d", event, len(calls))
	}
	for _, environment := range []string{"dev", "stage"} {
		c.cycles(2)
		c.merge(environment)
		c.cycles(2)
		c.report(environment)
		c.cycles(2)
	}
	counted("a cycle in which nothing waits", 1)
	f.server.Commit(f.cp, "main", "configs/level.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: level, labels: {platform-config: \"true\"}}\ndata: {LEVEL: \"1\"}\n")
	counted("a commit on `main` is promoted to `dev`, and its output proposed", 2)
	c.cycles(1)
	counted("a cycle while the pull request is open", 1)
	c.merge("dev")
	counted("the pull request is merged", 1)
	c.cycles(1)
	counted("a cycle while the clusters of `dev` roll out", 1)
	c.report("dev")
	counted("they report, and the commit is promoted to `stage`, and its output proposed", 2)
	if e, _ := c.store.Snapshot().FindEnvironment("stage"); e.State != status.Proposed {
		t.Errorf("stage is %s: %s", e.State, e.Reason)
	}
}

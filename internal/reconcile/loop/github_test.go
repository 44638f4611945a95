package loop_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const (
	githubCP  = "acme/control-plane"
	githubOut = "acme/gitops"
)

// TestGitHub is the flow on GitHub: a pull request, an edit of it in place, a merge,
// quiet; with a bound on the calls.
func TestGitHub(t *testing.T) {
	t.Parallel()
	fake := githubfake.Serve(t)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev"})
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.secret, fake.TokenExpires = map[string]string{"TOKEN": fake.Token}, "2026-12-01 10:00:00 UTC"
	host := strings.TrimSuffix(fake.Git.URL(""), "/.git")
	w.more += "remotes: [{url: \"" + host + "/\", token: {env: TOKEN}}]\n"
	m := metrics.New("test")
	d := w.begin(w.data, func(o *loop.Options) { o.Metrics = m })
	calls := func(most int) {
		t.Helper()
		before := len(fake.Requests())
		d.cycle()
		if all := fake.Requests()[before:]; len(all) > most {
			t.Errorf("the cycle made %d calls, want at most %d: %v", len(all), most, all)
		}
	}
	calls(8) // the first of a process also looks for issues, and for changes to preview
	d.want(map[string]status.State{"dev": status.Proposed})
	first := d.state("dev").Pull
	if first == nil || first.URL == "" {
		t.Fatalf("there is no page of the pull request: %+v", first)
	}
	calls(1) // our open pull requests
	w.edit("dev", "configs/environment.yaml", "debug", "info")
	calls(6)
	if again := d.state("dev").Pull; again == nil || again.Number != first.Number || again.Head == first.Head {
		t.Errorf("the pull request is %+v, and was %+v", again, first)
	}
	calls(1) // our open pull requests
	fake.Merge(githubOut, first.Number, true)
	calls(6)
	d.want(map[string]status.State{"dev": status.InSync})
	calls(1) // our open pull requests
	commit := d.state("dev").Inputs[slices.IndexFunc(d.state("dev").Inputs, func(i status.Input) bool { return i.Layer == "dev" })].Commit
	said := fake.Statuses(githubCP, commit)
	if len(said) == 0 || said[0].Context != "fairlead/dev" || said[0].State != "success" {
		t.Errorf("the statuses of the control plane's commit are %+v", said)
	}
	told := d.store.Snapshot().Credentials
	if len(told) != 1 || told[0].URL != host+"/" || told[0].Forge != "github" || len(told[0].Repositories) != 2 || told[0].Expires != time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC) ||
		len(told[0].Limits) != 1 || told[0].Limits[0].Name != "core" || told[0].Limits[0].Remaining != 4999 {
		t.Errorf("what is told of the credential is %+v", told)
	}
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	figures := answer.Body.String()
	for _, want := range []string{`fairlead_git_calls_total{host="127.0.0.1`, `operation="push"`, `operation="fetch"`, `fairlead_forge_calls_total{forge="github"`, `fairlead_forge_rate_limit_remaining`, `fairlead_forge_token_expiry_timestamp_seconds{host="127.0.0.1"} 1.7961`} {
		if !strings.Contains(figures, want) {
			t.Errorf("the metrics lack %s:\n%s", want, figures)
		}
	}
	if strings.Contains(w.logs.String()+figures, fake.Token) {
		t.Error("the log or the metrics have the token")
	}
}

// TestUnknownForge: nobody says what the GitOps repository's host is.
func TestUnknownForge(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.kind = "kind: git}, {host: other.example, kind: git"
	w.more += "map: {\"" + w.server.URL("out") + "\": \"" + strings.Replace(w.server.URL("out"), "127.0.0.1", "localhost", 1) + "\"}\n"
	d := w.begin(w.data)
	d.cycle()
	e := d.state("dev")
	if e.State != status.Problems || !strings.Contains(e.Problems[0].Summary, "do not say what kind of forge localhost:") || e.Problems[0].Hint == "" {
		t.Errorf("the environment is %s with %v", e.State, e.Problems)
	}
}

// TestGitHubPreview: what a change of the control plane means is said on its pull
// request, in one comment, and nothing else is written.
func TestGitHubPreview(t *testing.T) {
	t.Parallel()
	fake := githubfake.Serve(t)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev", "prod"})
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.secret = map[string]string{"TOKEN": fake.Token}
	w.more += "remotes: [{url: \"" + strings.TrimSuffix(fake.Git.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
	d := w.begin(w.data)
	d.cycle()
	change := func(old, new string) string {
		t.Helper()
		w.people.Pull("main")
		gittest.Git(t, w.people.Dir, "checkout", "-qB", "change")
		text := gittest.Show(t, w.people.Dir, "HEAD", "configs/fleet.yaml")
		w.people.Write("configs/fleet.yaml", strings.Replace(text, old, new, 1))
		id := w.people.Commit("change")
		w.people.Push("+HEAD:change")
		return id
	}
	text := gittest.Show(t, w.people.Dir, "origin/main", "configs/fleet.yaml")
	line := text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:]
	first := change(line, line+"  SAID: by-us\n")
	out := gittest.Refs(t, fake.Git.Dir(githubOut))
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "change", Base: "main", Title: "mine", Body: "please"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), first) // as GitHub does
	d.cycle()
	all := fake.Comments(githubCP, number)
	if len(all) != 1 || !strings.Contains(all[0], "### dev") || !strings.Contains(all[0], "### prod") || !strings.Contains(all[0], "SAID") {
		t.Fatalf("the comments are %q", all)
	}
	if said := fake.Statuses(githubCP, first); len(said) != 1 || said[0].Context != "fairlead/preview" || said[0].Description != "Changes the output of 2 environments" {
		t.Errorf("the statuses are %+v", said)
	}
	before := len(fake.Requests())
	d.cycle()
	if n := len(fake.Requests()) - before; n > 1 {
		t.Errorf("a quiet cycle makes %d calls", n)
	}
	broken := change(line, "  SAID: [\n")
	d.cycle()
	if all := fake.Comments(githubCP, number); len(all) != 1 || !strings.Contains(all[0], "Problems stop it") {
		t.Errorf("after a push that breaks it the comments are %q", all)
	}
	if said := fake.Statuses(githubCP, broken); len(said) != 1 || said[0].State != "failure" {
		t.Errorf("the statuses are %+v", said)
	}
	if now := gittest.Refs(t, fake.Git.Dir(githubOut)); !maps.Equal(now, out) {
		t.Errorf("the GitOps repository changed: %v", now)
	}
}

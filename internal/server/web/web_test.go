package web

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

var update = flag.Bool("update", false, "rewrite the wanted answers in testdata")

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fleet is a store with something in every field, and in every state.
func fleet() *status.Store {
	const base, tree = "5f1d7a3c9b2e4f6081a2b3c4d5e6f708192a3b4c", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
	s := &status.Store{}
	s.StartEnvironment("edge", noon.Add(-time.Hour))
	set := func(e status.Environment, age, checked time.Duration) {
		e.Checked = noon.Add(-age)
		s.SetEnvironment(e)
		e.Checked = noon.Add(-checked)
		s.SetEnvironment(e)
	}
	output := func(branch string) status.Output {
		return status.Output{Repo: "https://git.example.com/org/gitops", Branch: branch, Folder: "clusters", Head: base, Wanted: tree}
	}
	inputs := []status.Input{
		{Layer: "base", Repo: "https://git.example.com/org/control-plane", Commit: base},
		{Layer: "hello-world", Repo: "git@git.example.com:org/hello.git", Commit: tree, Folder: "deploy"},
	}
	lately := status.Environment{Name: "stage", State: status.Problems, Checked: noon.Add(-4 * time.Hour),
		Inputs: []status.Input{{Layer: "base", Repo: "https://github.com/org/control-plane", Commit: tree}, inputs[1]}}
	for i, file := range []string{"configs/<d>.yaml", "configs/e.yaml"} {
		lately.Problems.Addf(problem.Pos{Layer: "base", File: file, Line: i + 4}, "ConfigMap/d", "write a number", "replicas is no number: <b>two</b>")
	}
	s.SetEnvironment(lately)
	inputs[0].About = status.Commit{ID: base, Subject: "Write <numbers>", Author: "dana <b>", When: noon.Add(-200 * time.Minute)}
	proposed := output("stage")
	proposed.Commit = "89abcdef0123456789abcdef0123456789abcdef"
	set(status.Environment{Name: "dev", State: status.InSync, Reason: "the branch holds what it should", Inputs: inputs, Output: output("dev"),
		Assignments: 12, ClusterTypes: 3, Took: 340 * time.Millisecond}, 49*time.Hour, 8*time.Second)
	set(status.Environment{Name: "stage", State: status.InSync, Inputs: inputs, Assignments: 1}, 3*time.Hour, 8*time.Second) // it recovers
	set(status.Environment{Name: "stage", State: status.Proposed, Reason: "pull request #12 waits for a merge", Inputs: inputs, Output: proposed,
		Pull:     &status.Pull{Number: 12, Title: "stage: 2 cluster types, 1 workload; image only", URL: "https://git.example.com/org/gitops/pull/12", Head: proposed.Commit},
		Withheld: []status.Withheld{{Cause: "removals", Reason: "it removes web from <edge> (the last assignment of workload web)", Acknowledge: proposed.Commit}},
		Change:   "2 cluster types, 1 workload; image only", Impact: "2 cluster types, 1 workload; image only\n\nimage only 2\n    in edge/<web>\n", Assignments: 12, ClusterTypes: 3, Took: 1200 * time.Millisecond}, 3*time.Hour, 8*time.Second)
	s.SetRemovals("stage", []status.Removal{{Repo: "https://git.example.com/org/gitops", Branch: "old", Folder: "<clusters>", Reason: "pull request 13 removes its output",
		Pull: &status.Pull{Number: 13, Title: "stage: REMOVE its output (2 cluster types)", URL: "https://git.example.com/org/gitops/pull/13", Head: base}}})
	broken := status.Environment{Name: "prod", State: status.Problems, Reason: "the control plane has problems; the branch keeps its last good content",
		Inputs: inputs[:1], Output: output("prod"), Took: 75 * time.Second}
	broken.Problems.Addf(problem.Pos{Layer: "base", File: "policies/<b>.yaml", Line: 7}, "SchedulingPolicy/web", `did you mean "drone"?`, `no cluster type has the label <script>alert("x")</script>`)
	broken.Problems.Warnf(problem.Pos{Layer: "prod"}, "", "", "the config is not read")
	broken.Problems.Warnf(problem.Pos{Layer: "base", File: "configs/<c>.yaml", Line: 3}, "ConfigMap/c", "", "the config is not read")
	set(broken, 5*time.Minute, 8*time.Second)
	set(status.Environment{Name: "test", State: status.Declined, Reason: "somebody closed the pull request", Output: output("test"),
		Pull: &status.Pull{Number: 9, Title: "</title><script>alert(1)</script>", URL: "javascript:alert(1)", Head: base, Closed: "not <today> (by bob)"}, Error: "fetch: connection refused",
		Assignments: 1, ClusterTypes: 1}, 0, 0)
	s.SetEnvironment(status.Environment{Name: "later", State: status.Waiting, Reason: "it has not been looked at yet"})
	set(status.Environment{Name: "west", State: status.InSync, Output: output("west"), Took: 20 * time.Millisecond}, 2*time.Hour, 8*time.Second)
	s.SetRemotes([]status.Remote{
		{URL: "https://git.example.com/org/gitops", Checked: noon.Add(-8 * time.Second)},
		{URL: "https://git.example.com/org/control-plane", Error: "401 Unauthorized", Failures: 3,
			Since: noon.Add(-4 * time.Minute), NextTry: noon.Add(90 * time.Second), Checked: noon.Add(-30 * time.Second)},
	})
	s.StartCycle(noon.Add(-3 * time.Hour))
	unordered := chain()
	unordered.Head = c3
	unordered.Problems.Addf(problem.Pos{Layer: "base", File: "promotion.yaml", Line: 9}, "Promotion/fleet", "leave one of them out", "dev comes after prod, and prod after dev")
	s.SetPromotions(unordered)
	s.StartCycle(noon.Add(-2 * time.Hour))
	s.SetPromotions(chain())
	s.SetCredentials([]status.Credential{
		{URL: "https://git.example.com/org", Forge: "github", Repositories: []string{"https://git.example.com/org/gitops"}, Expires: noon.Add(100 * time.Hour), Asked: noon.Add(-3 * time.Second),
			Limits: []status.RequestLimit{{Name: "core", Limit: 5000, Remaining: 312, Resets: noon.Add(20 * time.Minute), Asked: noon.Add(-3 * time.Second)},
				{Name: "graphql", Limit: 5000, Resets: noon.Add(-time.Minute), Asked: noon.Add(-time.Hour)}}},
		{URL: "https://gitlab.example.com", Forge: "gitlab", Repositories: []string{"https://gitlab.example.com/org/hello"}, RetryAt: noon.Add(time.Minute), Expires: noon.Add(1000 * time.Hour), Asked: noon.Add(-5 * time.Second),
			Limits: []status.RequestLimit{{Limit: 2000, Resets: noon.Add(time.Minute), Asked: noon.Add(-5 * time.Second)}}},
		{URL: "https://hub.example.com/<b>", Forge: "github", Renewed: true, Repositories: []string{"https://hub.example.com/<b>/x", "https://hub.example.com/<b>/y"}},
		{URL: "https://tea.example.com", Forge: "gitea", Repositories: []string{"https://tea.example.com/org/x"}, Refused: true, Asked: noon.Add(-time.Minute)},
	})
	s.SetExamination(status.Examination{When: noon.Add(-20 * time.Minute), Findings: []status.Finding{
		{Level: status.LevelOK, Subject: "https://git.example.com/org/gitops: forge", Message: "GitHub, at https://git.example.com/api/v3"},
		{Level: status.LevelFail, Subject: "https://git.example.com/org: token", Message: "it lacks the scope repo; its scopes: <none>", Hint: "give it the scope repo"},
		{Level: status.LevelWarn, Subject: "settings: write", Message: "it is off: nothing is pushed or proposed", Hint: "write: true switches it on, once this is what you want"},
	}})
	s.SetCycle(status.Cycle{Number: 42, Started: noon.Add(-10 * time.Second), Took: 2 * time.Second, Next: noon.Add(50 * time.Second),
		Outcome: status.OutcomeFailed, Error: "1 of 5 environments failed"})
	s.SetControlPlane("401 Unauthorized")
	setPlans(s)
	return s
}

func open(store *status.Store) http.Handler {
	return New(Options{Store: store, Metrics: metrics.New("1.2.3"), Version: "1.2.3", OverdueAfter: time.Minute, Now: func() time.Time { return noon }, Webhooks: hooks(nil, nil),
		Explain: explainNothing, Compare: compareNothing, History: pastActions})
}

// ask sends a request, of a page of the site if one is given: "same-origin" or
// "cross-site".
func ask(h http.Handler, method, target string, site ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for _, s := range site {
		r.Header.Set("Sec-Fetch-Site", s)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update rewrites it:\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	full, empty := open(fleet()), open(&status.Store{})
	for _, c := range []struct {
		h            http.Handler
		target, path string
	}{
		{full, "/", "testdata/overview.html"},
		{full, "/environments", "testdata/environments.html"},
		{full, "/environments/stage", "testdata/environment.html"},
		{full, "/environments/prod", "testdata/problems-of-prod.html"},
		{full, "/environments/stage/pulls/12", "testdata/pull.html"},
		{full, "/commits", "testdata/commits.html"},
		{full, "/commits/" + c4, "testdata/commit.html"},
		{open(hosted()), "/commits/" + c4, "testdata/commit-gone-back.html"},
		{open(hosted()), "/commits/" + strings.Repeat("c5", 20), "testdata/commit-unrendered.html"},
		{open(hosted()), "/commits", "testdata/commits-hosted.html"},
		{full, "/problems", "testdata/problems.html"},
		{full, "/health", "testdata/health.html"},
		{full, "/search?q=st", "testdata/search.html"},
		{full, "/environments/pord", "testdata/missing.html"},
		{full, "/explain?env=dev&q=large/web", "testdata/explain.html"},
		{full, "/diff?from=dev&to=prod", "testdata/diff.html"},
		{empty, "/?refresh=off", "testdata/empty.html"},
		{empty, "/environments", "testdata/empty-environments.html"},
		{empty, "/commits", "testdata/empty-commits.html"},
		{empty, "/problems", "testdata/empty-problems.html"},
		{empty, "/health", "testdata/empty-health.html"},
		{New(Options{Store: fleet(), History: retired}), "/environments/pr-7", "testdata/retired.html"},
		{full, "/api/v1/status", "testdata/status.json"},
		{empty, "/api/v1/status", "testdata/empty.json"},
		{open(external()), "/?refresh=off", "testdata/external.html"},
		{open(stuck()), "/?refresh=off", "testdata/stuck.html"},
		{full, "/api/v1/environments/stage", "testdata/stage.json"},
		{full, "/api/v1/environments/stagee", "testdata/unknown.json"},
	} {
		golden(t, c.path, mainOf(ask(c.h, http.MethodGet, c.target).Body.String()))
	}
}

// retired returns that an environment is not there any more in which things were done.
func retired(context.Context) (history.Log, error) {
	return history.Log{Entries: []history.Entry{
		{Time: noon.Add(-48 * time.Hour), Who: "carol", Environment: "pr-7", Action: "retire", Title: "Retire pr-7: <merged>", Commit: c1},
		{Time: noon.Add(-72 * time.Hour), Who: "Fairlead", Environment: "pr-7", Action: "promote", Title: "Promote to pr-7", Commit: c2},
	}}, nil
}

// mainOf returns what a page says, without its frame; another text as it is.
func mainOf(body string) string {
	_, main, isPage := strings.Cut(body, `<main id="main" tabindex="-1">`+"\n")
	if !isPage {
		return body
	}
	main, _, _ = strings.Cut(main, "</main>")
	return main
}

func TestRoutes(t *testing.T) {
	full, empty := open(fleet()), open(&status.Store{})
	well := &status.Store{}
	well.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK})
	const notFound = "there is nothing at this address"
	for _, c := range []struct {
		h              http.Handler
		method, target string
		code           int
		allow          string
		body           string // a part of it
	}{
		{empty, "GET", "/", 200, "", "The first cycle has not finished yet."},
		{full, "HEAD", "/", 200, "", ""},
		{full, "POST", "/", 405, "GET, HEAD", "the method POST is not allowed here"},
		{empty, "GET", "/healthz", 200, "", "ok\n"},
		{empty, "HEAD", "/healthz", 200, "", ""},
		{empty, "PUT", "/healthz", 405, "GET, HEAD", "use GET"},
		{empty, "GET", "/readyz", 503, "", "the first cycle has not ended yet\n"},
		{full, "GET", "/readyz", 503, "", "the control plane cannot be read: 401 Unauthorized\n"},
		{open(well), "GET", "/readyz", 200, "", "ready\n"},
		{empty, "DELETE", "/readyz", 405, "GET, HEAD", "DELETE"},
		{empty, "GET", "/metrics", 200, "", `fairlead_build_info{version="1.2.3"} 1`},
		{New(Options{}), "GET", "/metrics", 404, "", "not found"},
		{empty, "POST", "/metrics", 405, "GET, HEAD", "POST"},
		{full, "GET", "/api/v1/status", 200, "", `"problemCount": 3`},
		{full, "POST", "/api/v1/status", 405, "GET, HEAD", "POST"},
		{full, "GET", "/api/v1/chain", 200, "", `"environment": "west"`},
		{empty, "GET", "/api/v1/chain", 200, "", `"stages": []`},
		{full, "POST", "/api/v1/chain", 405, "GET, HEAD", "POST"},
		{full, "GET", "/api/v1/environments", 200, "", `"name": "stage"`},
		{full, "PATCH", "/api/v1/environments", 405, "GET, HEAD", "PATCH"},
		{full, "GET", "/api/v1/environments/prod", 200, "", `"state": "problems"`},
		{full, "GET", "/api/v1/environments/pord", 404, "", `did you mean \"prod\"?`},
		{full, "GET", "/api/v1/environments/a%2Fb%0A", 404, "", "/api/v1/environments lists"},
		{full, "DELETE", "/api/v1/environments/prod", 405, "GET, HEAD", "DELETE"},
		{full, "POST", "/api/v1/wake", 202, "", "the next cycle starts now"},
		{full, "GET", "/api/v1/wake", 405, "POST", "use POST"},
		{full, "HEAD", "/api/v1/wake", 405, "POST", ""},
		{full, "GET", "/api/v1/openapi.json", 200, "", `"openapi": "3.1.0"`},
		{full, "PUT", "/api/v1/openapi.json", 405, "GET, HEAD", "PUT"},
		{full, "GET", "/me", 404, "", "Nobody can sign in here."},
		{full, "GET", "/sign-in", 404, "", "Nobody can sign in here."},
		{full, "GET", "/levers/hold", 404, "", "Nobody can sign in here."},
		{full, "GET", "/waiting", 200, "", "stage"},
		{full, "GET", "/api/v1", 404, "", notFound},
		{full, "GET", "/favicon.ico", 404, "", notFound},
		{full, "POST", "/api/v2/wake", 404, "", notFound},
		{full, "POST", "/webhooks/github", 404, "", "are not set up"},
		{full, "POST", "/webhooks/bitbucket", 404, "", "no such kind of webhook"},
		{full, "GET", "/webhooks/github", 405, "POST", "use POST"},
		{full, "POST", "/webhooks", 404, "", notFound},
		{New(Options{}), "POST", "/webhooks/github", 404, "", notFound},
	} {
		w := ask(c.h, c.method, c.target)
		if w.Code != c.code || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s %s: %d, Allow %q, want %d, %q, and %q in\n%s", c.method, c.target, w.Code, w.Header().Get("Allow"), c.code, c.allow, c.body, w.Body)
		}
		kept := "no-store"
		if w.Header().Get("ETag") != "" {
			kept = "private, no-cache"
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": kept, "Referrer-Policy": "no-referrer"} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s %s: %s is %q, want %q", c.method, c.target, name, got, want)
			}
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") {
			t.Errorf("%s %s: the policy is %q", c.method, c.target, policy)
		}
	}
}

// TestWake counts what wakes the daemon: a program and a page of this site do, a
// page of another site and another method do not.
func TestWake(t *testing.T) {
	woken := 0
	h := New(Options{Wake: func() { woken++ }})
	for _, c := range []struct {
		method, site string
		code, woken  int
	}{
		{"POST", "", 202, 1},
		{"POST", "same-origin", 202, 2},
		{"POST", "cross-site", 403, 2},
		{"GET", "", 405, 2},
	} {
		w := ask(h, c.method, "/api/v1/wake", c.site)
		if w.Code != c.code || woken != c.woken {
			t.Errorf("%s from %q: %d, woken %d times; want %d, %d", c.method, c.site, w.Code, woken, c.code, c.woken)
		}
	}
}

// TestStates holds the words of status and of metrics together.
func TestStates(t *testing.T) {
	m := metrics.New("")
	for _, state := range status.AllStates() {
		m.RecordEnvironment(status.Environment{Name: string(state), State: state})
		body := ask(m, http.MethodGet, "/metrics").Body.String()
		if want := `fairlead_environment_state{environment="` + string(state) + `",state="` + string(state) + `"} 1`; !strings.Contains(body, want) {
			t.Errorf("metrics do not know the state %s", state)
		}
	}
}

// TestServe ends the server while a request is being answered: with time enough
// it gets its answer, without it is cut off, and neither is an error.
func TestServe(t *testing.T) {
	for _, c := range []struct {
		name    string
		grace   time.Duration
		answers bool
	}{{"patient", time.Minute, true}, {"impatient", time.Millisecond, false}} {
		t.Run(c.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			begun, release, served := make(chan bool), make(chan bool), make(chan error, 1)
			ctx, end := context.WithCancel(t.Context())
			slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(begun)
				end()
				if c.answers {
					<-release
				} else {
					<-r.Context().Done()
				}
				_, _ = io.WriteString(w, "done")
			})
			go func() { served <- serveUntilDone(ctx, listener, slow, c.grace) }()
			go func() { <-begun; close(release) }()
			response, err := http.Get("http://" + listener.Addr().String())
			if c.answers != (err == nil) {
				t.Errorf("the request gave %v", err)
			}
			if err == nil {
				body, err := io.ReadAll(response.Body)
				if !bytes.Equal(body, []byte("done")) || err != nil {
					t.Errorf("the answer is %q, %v", body, err)
				}
				_ = response.Body.Close()
			}
			if err := <-served; err != nil {
				t.Errorf("Serve gave %v", err)
			}
		})
	}
}

func TestServeFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), listener, http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), "serve on 127.0.0.1:") {
		t.Errorf("the error is %v", err)
	}
}

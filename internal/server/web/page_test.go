package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

// allPages are the pages of the store of fleet.
var allPages = []string{
	"/", "/environments", "/environments/dev", "/environments/prod", "/environments/east", "/environments/stage", "/environments/stage/pulls/12", "/environments/test", "/environments/edge",
	"/commits", "/commits/" + c4, "/commits/" + c2, "/problems", "/problems?env=prod&kind=mistake&q=drone", "/search?q=chan", "/health",
	"/explain?env=dev&q=large/web", "/diff?from=dev&to=prod", "/explain",
}

// TestPagesAreAnswers: a page is the same when it is made from the JSON of its answer.
func TestPagesAreAnswers(t *testing.T) {
	store := fleet()
	s := newSite(Options{Store: store, Explain: explainNothing, Compare: compareNothing, History: pastActions, Past: pastOf(store), PastPatience: time.Minute, Now: func() time.Time { return noon }})
	src := s.readState()
	for _, address := range slices.Concat(allPages, fleetPages, pastPagesOf("2026-11-20")) {
		path, query := splitAddress(t, address)
		f := s.findAt(t.Context(), src, s.find(&url.URL{Path: path, RawQuery: query.Encode()}))
		data, err := json.Marshal(f.answer)
		if err != nil {
			t.Fatal(err)
		}
		read := reflect.New(reflect.TypeOf(f.answer))
		if err := json.Unmarshal(data, read.Interface()); err != nil {
			t.Fatal(err)
		}
		render := func(of any) string {
			kept, err := page.Render(page.Frame{Path: path, Questions: true}, shownAt(path, of, src.Names(), query))
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
}

// TestNothingInline looks for styles and scripts that the policy does not allow, and for what html/template
// has refused to write.
func TestNothingInline(t *testing.T) {
	h := open(fleet())
	for _, address := range append(slices.Clone(allPages), fleetPages...) {
		body := ask(h, http.MethodGet, address).Body.String()
		for _, no := range []string{" style=", "<style", "<script>", " onclick", " onload", "ZgotmplZ", "javascript:", "<no value>"} {
			if strings.Contains(body, no) {
				t.Errorf("%s is in %s", no, address)
			}
		}
	}
}

// hostile are texts as people and repositories may have them, to harm who reads the page.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, `</title></style></svg><svg/onload=alert(1)>`,
	"{{.}}", "${7*7}", "a?b#c/../../d", "%2e%2e%2f", "\x00\x1b[2J", "\u202egnp.exe", "&lt;b&gt;", "<!--", "]]>", strings.Repeat("w", 300),
}

// TestHostileTexts writes hostile texts into all that the page shows: no element, attribute or link is made
// of them.
func TestHostileTexts(t *testing.T) {
	for _, text := range hostile {
		checkHostile(t, text)
	}
}

// FuzzTexts writes any text into all that the page shows.
func FuzzTexts(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkHostile(t, text)
		checkFilled(t, text)
	})
}

// checkHostile checks the pages of a state that has a text in all of its fields.
func checkHostile(t *testing.T, text string) {
	t.Helper()
	s, id := &status.Store{}, strings.Repeat("0a", 20)
	e := status.Environment{Name: text, State: status.Proposed, Reason: text, Error: text, Change: text, Impact: text,
		Inputs: []status.Input{{Layer: text, Repo: text, Commit: text, Folder: text}}, Output: status.Output{Repo: text, Branch: text, Folder: text, Head: text},
		Pull:     &status.Pull{Title: text, URL: text},
		Withheld: []status.Withheld{{Cause: text, Reason: text, Acknowledge: text}}}
	e.Problems.Addf(problem.Pos{Layer: text, File: text, Line: 1}, text, text, "%s", text)
	s.SetEnvironment(e)
	s.SetRemovals(text, []status.Removal{{Repo: text, Branch: text, Folder: text, Reason: text, Pull: &status.Pull{URL: text}}})
	s.SetRemotes([]status.Remote{{URL: text, Error: text}})
	s.SetControlPlane(text)
	s.SetCycle(status.Cycle{Outcome: text, Error: text})
	verdict := says(gate.Wait, text, text, says(gate.Fail, text, text))
	s.SetPromotions(status.Chain{Inferred: text, Head: id, Problems: e.Problems, Commits: []status.Commit{{ID: id, Subject: text, Author: text, Paths: []string{text}}}, Stages: []status.Stage{
		{Environment: text, After: []string{text}, Commit: id, Hold: text, Proof: verdict, Next: promote.Decision{State: promote.Held, Candidate: text, Skipped: []string{text}, Verdict: verdict}}}})
	site := newSite(Options{Store: s})
	src := site.readState()
	one, _ := src.Environment(text)
	pull, _ := src.Pull(text, 0)
	journey, _ := src.Journey(id)
	then := answer.PastOutput{Environment: text, At: text, Output: text, Base: &answer.Commit{Commit: status.Commit{ID: text, Subject: text}}}
	for _, of := range []any{answer.PastEnvironments{At: text, Unknown: []string{text}, Items: []answer.PastEnvironment{{PastOutput: then}}}, answer.PastEnvironment{PastOutput: then, Inputs: e.Inputs, Runs: []fleetview.PastRun{{Phase: text, Revision: text}}}, answer.OutputChanges{Environment: text, From: then, To: then, Text: text}, src.Overview(), shownAt(environmentsPath, src.Environments(answer.EnvironmentFilter{}), nil, url.Values{"q": {text}}), one, pull, shownAt("/problems", src.Problems(newProblemFilter(nil, "")), src.Names(), nil),
		shownAt(commitsPath, src.Commits(commitsOf(text)), nil, url.Values{"q": {text}}),
		shownAt(explainPath, answer.Explanation{Text: text}, src.Names(), url.Values{"env": {text}, "q": {text}}), shownAt(diffPath, errorAnswer{text, text}, src.Names(), url.Values{"from": {text}, "to": {text}}), journey, src.Search(text), src.Status(), page.Missing{Error: text, Hint: text}} {
		kept, err := page.Render(page.Frame{Path: "/x?" + text, Questions: true, Follow: true, SignedIn: true, Acts: true, API: text, Product: text, Query: text}, of)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := kept.For(page.Reader{Name: text, Waiting: text})
		checkMarkup(t, text, string(body))
	}
}

// TestWavesOfEnvironment: the page and the text of an environment show who is in each wave of its advance, and
// why it waits.
func TestWavesOfEnvironment(t *testing.T) {
	page := ask(open(withParts()), http.MethodGet, "/environments/dev").Body.String()
	for _, part := range []string{"<strong>canary</strong>", "Kustomization apps failed on tiny-1", "<bdi>small</bdi>, <bdi>large</bdi>", `<rect class="failed" x="75" width="25"`, "wave canary failed"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q:\n%s", part, page)
		}
	}
	h := New(Options{Store: withParts(), People: newPeople(newPlane(t), t.TempDir()), Now: func() time.Time { return noon }})
	for _, address := range []string{"/environments/dev", "/waiting"} {
		for groups, want := range map[string]bool{"sre": true, "none": false} {
			body := askPerson(h, "alice", groups, http.MethodGet, address, "", "").Body.String()
			if strings.Contains(body, `levers/approve?commit=3f2a9c1d04be&amp;env=dev&amp;wave=rest"`) != want {
				t.Errorf("%s lets group %s approve the wave: %v, want %v\n%s", address, groups, !want, want, body)
			}
		}
	}
	text := plaintext.NewChainTable(withParts().Snapshot().Chain, noon).Below
	want := "dev wave 1/2 canary: failed; tiny; 3 of 4 clusters ready, 1 failed: Kustomization apps failed on tiny-1\ndev wave 2/2 rest: waiting; small, large: wave canary failed\n"
	if !strings.HasPrefix(text, want) {
		t.Errorf("the status is %q, want %q", text, want)
	}
}

// TestLanesOfEnvironments: the overview, the page of an environment, that of a commit, and texts show where lanes are, how many
// versions wait, why, and who holds one.
func TestLanesOfEnvironments(t *testing.T) {
	h := open(withParts())
	for address, parts := range map[string][]string{
		"/":                   {`<strong><bdi>hello</bdi></strong>`, "and 2 versions in all", "test has not verified it", "held", "the sale", `id="team-releases"`, "<bdi>till-1</bdi>", "<bdi>till-2</bdi>", "till-2 is not verified in test yet"},
		"/environments/stage": {`<strong><bdi>hello</bdi></strong>`, "and 2 versions in all", "test has not verified it", "the sale", "the till is full", `id="releases"`, "<bdi>till 1a2b3c4 -&gt; 4d5e6f7</bdi>"},
		"/commits/" + c4:      {`id="lanes">Lanes: <bdi>hello</bdi>`, "lane hello waits: test has not verified it"},
		"/commits/" + c3:      {"has it by its lanes"},
	} {
		page := ask(h, http.MethodGet, address).Body.String()
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s has no %q:\n%s", address, part, page)
			}
		}
	}
	text := plaintext.NewChainTable(withParts().Snapshot().Chain, noon).Below
	for _, part := range []string{"; 2 versions wait in stage: test has not verified it\n", "; held in stage: the sale\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the status has no %q: %s", part, text)
		}
	}
}

// TestSharedProblems: what several environments have wrong is on the page once, with their names.
func TestSharedProblems(t *testing.T) {
	mistake := problem.Problem{Pos: problem.Pos{Layer: "base", File: "a.yaml", Line: 7}, Summary: "the file is not YAML"}
	own := problem.Problem{Pos: problem.Pos{Layer: "prod", File: "b.yaml"}, Summary: "there is no such policy"}
	store := &status.Store{}
	store.SetEnvironment(status.Environment{Name: "dev", State: status.Problems, Problems: problem.List{mistake},
		Inputs: []status.Input{{Layer: "base", Repo: "https://github.com/acme/fleet", Commit: c1}}})
	store.SetEnvironment(status.Environment{Name: "prod", State: status.Problems, Problems: problem.List{mistake, own}})
	body := ask(open(store), http.MethodGet, "/problems").Body.String()
	for part, want := range map[string]int{
		"the file is not YAML": 1, "there is no such policy": 1, `<a href="./environments/dev">dev</a>, <a href="./environments/prod">prod</a>: `: 1,
		"https://github.com/acme/fleet/blob/" + c1 + "/a.yaml#L7": 1,
	} {
		if got := strings.Count(body, part); got != want {
			t.Errorf("%q is on the page %d times, want %d:\n%s", part, got, want, body)
		}
	}
}

// TestPaths: a part of a commit's id and a whole name lead to the page, what there is not is said with what
// to do, and all works below the path of a proxy.
func TestPaths(t *testing.T) {
	h := open(fleet())
	for _, c := range []struct {
		target   string
		code     int
		location string
		body     string
	}{
		{"/commits/" + c4[:7], 302, "./../commits/" + c4, ""},
		{"/api/v1/commits/" + c4[:4], 302, "./../../../api/v1/commits/" + c4, ""},
		{"/environments/stage/pulls/13", 404, "", "has no open pull request"},
		{"/environments/none/pulls/x", 404, "", "There is no environment"},
		{"/commits/c", 404, "", "is not among the newest"},
		{"/api/v1/commits/main", 404, "", `"error": "commit`},
		{"/search?q=stage", 302, "./environments/stage", ""},
		{"/search?q=" + c3[:8], 302, "./commits/" + c3, ""},
		{"/search?q=", 200, "", "Type the name"},
		{"/search?q=nothing-of-this", 200, "", "Nothing is called"},
		{"/environments/pord", 404, "", "Did you mean"},
		{"/environments/pord", 404, "", `<a href="../">Overview</a>`},
		{"/environments/a%2Fb", 404, "", "There is no environment"},
		{"/problems?kind=warning&q=zzz", 200, "", "Show all"},
		{"/commits?team=dev", 400, "", "This list has no filter team"},
		{"/environments?state=fine", 400, "", "The filter state has no value"},
		{"/environments?q=zzz", 200, "", "No environment is like that."},
		{"/environments?state=bad&q=dev", 200, "", "No environment is like that."},
		{"/environments?state=bad&q=dev", 200, "", "Environments: “dev” with state bad · Fairlead</title>"},
		{"/environments?state=busy&q=DEV", 200, "", "environments/dev\"><strong>dev</strong>"},
		{"/commits?env=pord", 404, "", "Did you mean"},
		{"/api/v1/fleet?state=nope", 400, "", `the filter state has no value \"nope\"`},
		{"/fleet?env=pord", 404, "", "Did you mean"},
		{"/fleet?env=dev&workload=checkout&rows=target&state=good&page=2", 200, "", "Fleet: checkout in dev with state good by target and environment, page 2 · Fairlead</title>"},
		{"/problems?env=prod&kind=warning", 200, "", "Problems: warning in prod · Fairlead</title>"},
		{"/history?who=carol&what=hold&since=2026-11-01&forced=on", 200, "", "History: held only forced by carol since 2026-11-01 · Fairlead</title>"},
		{"/commits?page=2&q=%3Cb%3E", 200, "", "Commits: “&lt;b&gt;”, page 2 · Fairlead</title>"},
		{"/commits?q=merge", 200, "", "Commits: “merge” · Fairlead</title>"},
		{"/commits?env=prod", 200, "", "Commits: on the way to prod · Fairlead</title>"},
		{"/history?what=merge", 200, "", "History: merged · Fairlead</title>"},
		{"/map?env=dev", 200, "", "Map of dev · Fairlead</title>"},
		{"/?at=2026-11-20", 400, "", "<h1>Not possible</h1>"},
		{"/history?what=mereg", 400, "", "The filter what has no value"},
		{"/api/v1/history?what=mereg", 400, "", `the filter what has no value \"mereg\"`},
		{"/history?what=rollback", 200, "", "Nothing that was done is like that"},
		{"/history?who=nobody", 404, "", "The history has nobody called"},
		{"/api/v1/history/figures?env=dev", 400, "", "this list has no filter env"},
		{"/commits/" + c4 + ".svg?env=nope", 404, "", "there is no environment"},
		{"/history?since=gestern", 400, "", "The filter since is no date"},
		{"/history?until=c4d4", 400, "", "The filter until is no date"},
		{"/history?forced=maybe", 400, "", "The filter forced has no value"},
		{"/fleet?differs=banana", 400, "", "The filter differs has no value"},
		{"/fleet?team=x", 400, "", "The filter team has no value"},
		{"/workloads?team=shpo", 400, "", "Did you mean"},
		{"/history?env=dev&env=prod", 400, "", "Env is there 2 times"},
		{"/commits?page=x", 400, "", "Page is no number of a page"},
		{"/fleet?cpage=-1", 400, "", "Cpage is no number of a page"},
		{"/map?env=dev&click.x=1", 400, "", "pull, at.x, at.y, at"},
		{"/diff?from=dev", 200, "", "Choose two environments."},
		{"/waiting", 200, "", "Waits for a person"},
		{"/me", 404, "", "Nobody can sign in here."},
		{"/api/v1/levers/hold?env=dev", 404, "", "nobody can sign in here"},
		{"/commits?q=zzz", 200, "", "newest commits is like that."},
		{"/assets/old/fairlead.css", 404, "", "load the page again"},
		{"/assets/" + page.Build + "/page.go", 404, "", NothingHere},
		{"/assets/" + page.Build + "/fairlead.js", 200, "", "use strict"},
	} {
		w := ask(h, http.MethodGet, c.target)
		if w.Code != c.code || w.Header().Get("Location") != c.location || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d, Location %q, want %d, %q and %q in\n%s", c.target, w.Code, w.Header().Get("Location"), c.code, c.location, c.body, w.Body)
		}
	}
	for _, address := range append(slices.Clone(allPages), fleetPages...) {
		checkLinks(t, h, address)
	}
}

// TestShell: commands on pages are those that a shell reads as the page means them.
func TestShell(t *testing.T) {
	h := open(fleet())
	for target, want := range map[string]string{
		"/explain?env=dev&q=a%3Brm+-rf+x": "fairlead explain -e dev &#39;a;rm -rf x&#39;</code>",
		"/explain?env=dev&q=large/web":    "fairlead explain -e dev large/web</code>",
		"/diff?from=dev&to=prod":          "fairlead diff dev prod</code>",
	} {
		if body := ask(h, http.MethodGet, target).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s has not %s:\n%s", target, want, mainOf(body))
		}
	}
}

// TestCommandsAskThisDaemon: commands that read more than a clone has name the address of the page, if it is known.
func TestCommandsAskThisDaemon(t *testing.T) {
	h := New(Options{Store: fleet(), URL: "https://fairlead.example.com/fleet/"})
	for target, want := range map[string]string{
		"/environments/dev": ">fairlead explain promotion dev --url https://fairlead.example.com/fleet/<", "/commits/" + c4: ">fairlead simulate c4d4e4f --url https://fairlead.example.com/fleet/<",
	} {
		if body := ask(h, http.MethodGet, target).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s has not %q:\n%s", target, want, body)
		}
	}
}

// TestTags: a browser that has a page gets it again only if it has changed.
func TestTags(t *testing.T) {
	store := fleet()
	h := open(store)
	for _, address := range append([]string{"/api/v1/status", "/api/v1/environments/dev", "/api/v1/overview", "/api/v1/commits"}, allPages[:len(allPages)-1]...) {
		tag := ask(h, http.MethodGet, address).Header().Get("ETag")
		again := askTagged(h, address, strings.TrimPrefix(tag, "W/"))
		if tag == "" || again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s with the tag %q is %d", address, tag, again.Code)
		}
	}
	old := ask(h, http.MethodGet, "/environments/dev").Header().Get("ETag")
	store.SetEnvironment(status.Environment{Name: "dev", State: status.Failed, Reason: "it broke", Checked: noon})
	if now := askTagged(h, "/environments/dev", old); now.Code != http.StatusOK || !strings.Contains(now.Body.String(), "it broke") {
		t.Errorf("the changed page is %d:\n%s", now.Code, now.Body)
	}
}

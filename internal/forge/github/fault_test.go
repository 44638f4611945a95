package github_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got the error %v, want one with %q", err, text)
	}
}

// kindOf names what a program can tell an error by.
func kindOf(err error) string {
	var limit *forge.RateLimit
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &limit):
		return "until " + limit.Until.Sub(start).String()
	}
	for name, kind := range map[string]error{
		"not found": forge.ErrNotFound, "exists": forge.ErrExists, "no difference": forge.ErrChanged, "moved": forge.ErrMoved,
		"not yet": forge.ErrNotReady, "unsupported": forge.ErrUnsupported,
	} {
		if errors.Is(err, kind) {
			return name
		}
	}
	return "other"
}

func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

var (
	json = http.Header{"Content-Type": {"application/json"}}
	date = start.Format(http.TimeFormat)
)

func headers(pairs ...string) http.Header {
	h := json.Clone()
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestGitHubRefuses(t *testing.T) {
	reset := strconv.FormatInt(start.Add(20*time.Minute).Unix(), 10)
	far := strconv.FormatInt(start.Add(1000*time.Hour).Unix(), 10)
	const message = `{"message":"No, because"}`
	tests := map[string]struct {
		fault            githubfake.Fault
		kind, text, hint string
	}{
		"401": {githubfake.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}, "other",
			"list pull requests of acme/gitops: the token was not accepted: 401: Bad credentials", "expired"},
		"403": {githubfake.Fault{Status: 403, Body: message}, "other", "the token may not do that: 403: No, because", "single sign-on"},
		"403, classic token": {githubfake.Fault{Status: 403, Body: message, Header: headers("X-Accepted-OAuth-Scopes", "repo", "X-OAuth-Scopes", "read:org")}, "other",
			"may not", "give the token one of the scopes repo (it has: read:org)"},
		"403, fine-grained token": {githubfake.Fault{Status: 403, Body: message, Header: headers("X-Accepted-GitHub-Permissions", "pull_requests=write")}, "other",
			"may not", "give the token or the App the permission pull_requests=write"},
		"403, primary limit": {githubfake.Fault{Status: 403, Body: message, Header: headers("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset, "Date", date)},
			"until 20m1s", "no more requests until 2026-01-01T12:20:01Z", ""},
		"429, primary limit": {githubfake.Fault{Status: 429, Body: message, Header: headers("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset, "Date", date)},
			"until 20m1s", "", ""},
		"403, limit of another clock": {githubfake.Fault{Status: 403, Header: headers("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset,
			"Date", start.Add(15*time.Minute).Format(http.TimeFormat))}, "until 5m1s", "", ""},
		"403, limit without end":              {githubfake.Fault{Status: 403, Header: headers("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", far, "Date", date)}, "until 1h0m0s", "", ""},
		"403, limit that is over":             {githubfake.Fault{Status: 403, Header: headers("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "x")}, "until 1m0s", "", ""},
		"403, secondary limit":                {githubfake.Fault{Status: 403, Body: message, Header: headers("Retry-After", "7", "X-RateLimit-Remaining", "12")}, "until 7s", "", ""},
		"429, secondary limit":                {githubfake.Fault{Status: 429, Header: headers("Retry-After", "0")}, "until 1s", "", ""},
		"403, secondary limit without a time": {githubfake.Fault{Status: 403, Body: `{"message":"You have exceeded a secondary rate limit"}`}, "until 1m0s", "", ""},
		"429 without a time":                  {githubfake.Fault{Status: 429}, "until 1m0s", "", ""},
		"404":                                 {githubfake.Fault{Status: 404, Body: `{"message":"Not Found"}`}, "not found", "not found: 404: Not Found", "the token may see it"},
		"409":                                 {githubfake.Fault{Status: 409, Body: message}, "other", "409: No, because", ""},
		"422": {githubfake.Fault{Status: 422, Body: `{"message":"Validation Failed","errors":[{"field":"base","code":"invalid"}]}`}, "other",
			"422: Validation Failed: base is invalid", ""},
		"500":           {githubfake.Fault{Status: 500, Body: message}, "other", "500: No, because", ""},
		"502 of a page": {githubfake.Fault{Status: 502, Body: "<html>Unicorn!</html>", Header: http.Header{}}, "other", "list pull requests of acme/gitops: 502", ""},
		"no JSON":       {githubfake.Fault{Status: 200, Body: "<html>", Header: http.Header{}}, "other", "invalid character", ""},
		"half of JSON":  {githubfake.Fault{Status: 200, Body: `[{"number":1}`}, "other", "unexpected EOF", ""},
		"truncated":     {githubfake.Fault{CutAfter: 40}, "other", "the answer was cut off", ""},
		"empty":         {githubfake.Fault{Empty: true}, "other", "the answer is empty", ""},
		"too long":      {githubfake.Fault{Status: 200, Body: strings.Repeat(" ", 11<<20) + "[]"}, "other", "more than 10 MiB", ""},
		"long message":  {githubfake.Fault{Status: 500, Body: `{"message":"` + strings.Repeat("a\\n", 5000) + `"}`}, "other", "…", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, branch := gitHubServer(t)
			branch("out/dev")
			now := start
			g := gitHub(t, s, forge.Options{Now: func() time.Time { return now }})
			pull, err := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"})
			check(t, err)
			test.fault.Times = 1
			s.Inject(test.fault)
			_, err = g.Pulls(t.Context(), "out/dev", "main")
			equal(t, "kind", kindOf(err), test.kind)
			wantError(t, err, test.text)
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if !strings.Contains(hint(err), test.hint) {
				t.Errorf("got the hint %q, want one with %q", hint(err), test.hint)
			}
			now = start.Add(time.Hour) // nothing is for ever
			all, err := g.Pulls(t.Context(), "out/dev", "main")
			check(t, err)
			equal(t, "found afterwards", all, []forge.Pull{pull})
		})
	}
}

func TestGitHubWaitsWithoutAsking(t *testing.T) {
	s, _ := gitHubServer(t)
	now := start
	shared := &forge.Limiter{}
	o := forge.Options{Limiter: shared, Now: func() time.Time { return now }}
	one, other, stranger := gitHub(t, s, o), gitHub(t, s, o), gitHub(t, s, forge.Options{})
	// The server's clock is far ahead: only the difference counts.
	theirs := start.AddDate(100, 0, 0)
	s.Inject(githubfake.Fault{Times: 1, Status: 200, Body: "[]", Header: headers("X-RateLimit-Remaining", "0",
		"X-RateLimit-Reset", strconv.FormatInt(theirs.Add(time.Minute).Unix(), 10), "Date", theirs.Format(http.TimeFormat))})
	look := func(g *github.Forge) string {
		_, err := g.Pulls(t.Context(), "out/dev", "main")
		return kindOf(err)
	}
	equal(t, "the last request", look(one), "none")
	equal(t, "the next", look(one), "until 1m1s")
	equal(t, "of another environment", look(other), "until 1m1s")
	equal(t, "requests", len(s.Requests()), 1)
	equal(t, "with another credential", look(stranger), "none")
	now = start.Add(61 * time.Second)
	equal(t, "when it is over", look(one), "none")
}

func TestGitHubStalls(t *testing.T) {
	s, _ := gitHubServer(t)
	s.Inject(githubfake.Fault{Times: 1, Stall: true})
	g := gitHub(t, s, forge.Options{Client: &http.Client{Timeout: 20 * time.Millisecond}})
	_, err := g.Pulls(t.Context(), "out/dev", "main")
	equal(t, "kind", kindOf(err), "other")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got the error %v", err)
	}
}

func TestGitHubIsRedirected(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(elsewhere.Close)
	to := func(status int, location string) githubfake.Fault {
		return githubfake.Fault{Times: 1, Status: status, Header: headers("Location", location)}
	}
	t.Run("to another host", func(t *testing.T) {
		for _, status := range []int{301, 302, 307, 308} {
			s, _ := gitHubServer(t)
			s.Inject(to(status, elsewhere.URL+"/secret?q=1"))
			_, err := gitHub(t, s, forge.Options{}).Pulls(t.Context(), "out/dev", "main")
			wantError(t, err, "list pull requests of acme/gitops: it was redirected to "+elsewhere.URL+", which is not given the token")
		}
		equal(t, "requests there", asked, 0)
	})
	t.Run("within", func(t *testing.T) {
		s, branch := gitHubServer(t)
		branch("out/dev")
		check(t, gitHub(t, s, forge.Options{}).SetStatus(t.Context(), branch("out/dev"), forge.Status{Context: "a", Outcome: forge.Success}))
		s.Inject(to(307, s.API()+"/repos/acme/gitops/pulls"))
		_, err := gitHub(t, s, forge.Options{}).OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"})
		check(t, err)
		s.Inject(to(307, s.API()+"/repos/acme/gitops/pulls?state=all"))
		_, err = gitHub(t, s, forge.Options{Repo: "acme/old"}).Pulls(t.Context(), "out/dev", "main")
		wantError(t, err, "the repository is now called acme/gitops")
	})
	t.Run("so that a change is lost", func(t *testing.T) {
		s, _ := gitHubServer(t)
		s.Inject(to(302, s.API()+"/repos/acme/gitops/pulls"))
		_, err := gitHub(t, s, forge.Options{}).OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"})
		wantError(t, err, "changes nothing")
	})
	t.Run("for ever", func(t *testing.T) {
		s, _ := gitHubServer(t)
		f := to(307, s.API()+"/repos/acme/gitops/pulls")
		f.Times = 0
		s.Inject(f)
		_, err := gitHub(t, s, forge.Options{}).Pulls(t.Context(), "out/dev", "main")
		wantError(t, err, "too often")
	})
}

func TestGitHubAnswerToOpenIsLost(t *testing.T) {
	s, branch := gitHubServer(t)
	branch("out/dev")
	s.Inject(githubfake.Fault{Times: 1, Method: "POST", CutAfter: 10})
	g := gitHub(t, s, forge.Options{})
	want := forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x", Labels: []string{"promoted"}}
	_, err := g.OpenPull(t.Context(), want)
	equal(t, "first", kindOf(err), "other")
	_, err = g.OpenPull(t.Context(), want)
	equal(t, "second", kindOf(err), "exists")
	all, err := g.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "labels before", len(all[0].Labels), 0)
	pull, err := g.EditPull(t.Context(), all[0].Number, want)
	check(t, err)
	equal(t, "mended", pull.Proposal, want)
}

func TestGitHubHasNothingToMerge(t *testing.T) {
	s, branch := gitHubServer(t)
	branch("main")
	_, err := gitHub(t, s, forge.Options{}).OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "main", Base: "main", Title: "x"})
	equal(t, "kind", kindOf(err), "no difference")
	wantError(t, err, "open a pull request of acme/gitops: the pull request has changed meanwhile: 422: Validation Failed: No commits between main and main")
}

func TestGitHubReadsThousandPulls(t *testing.T) {
	s, branch := gitHubServer(t)
	branch("out/dev")
	g := gitHub(t, s, forge.Options{})
	first, err := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"})
	check(t, err)
	check(t, g.ClosePull(t.Context(), first.Number, "y"))
	s.Copies(repo, first.Number, 999)
	for _, want := range []int{http.StatusOK, http.StatusNotModified} {
		before := len(s.Requests())
		all, err := g.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		equal(t, "pull requests", len(all), 1000)
		equal(t, "newest and oldest", []int{all[0].Number, all[999].Number}, []int{1000, 1})
		equal(t, "requests", len(s.Requests())-before, 10)
		for _, r := range s.Requests()[before:] {
			equal(t, "status", r.Status, want)
		}
	}
}

// TestGitHubHidesCredentials has a server that says in every answer what it was
// sent, and looks at all that comes out.
func TestGitHubHidesCredentials(t *testing.T) {
	const secret = "github_pat_do-not-show-this"
	for _, status := range []int{200, 302, 400, 401, 403, 404, 422, 429, 500} {
		echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/?"+req.Header.Get("Authorization"))
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"message":%q,"errors":[{"message":%[1]q}], "number": "x"}`, req.Header.Get("Authorization"))
		}))
		t.Cleanup(echo.Close)
		var seen []string
		g, err := github.New(forge.Options{
			Repo: repo, API: echo.URL, App: true, Now: func() time.Time { return start },
			Token: func(context.Context) (string, error) { return secret, nil },
			Observe: func(op string, _ time.Duration, err error) {
				seen = append(seen, fmt.Sprintf("%s %v %+v %#v", op, err, err, err))
			},
		})
		check(t, err)
		_, errPulls := g.Pulls(t.Context(), "out/dev", "main")
		_, errOpen := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev"})
		_, errEdit := g.EditPull(t.Context(), 1, forge.Proposal{Mark: "dev"})
		_, errIssues := g.Issues(t.Context(), "dev")
		_, errChanges := g.Changes(t.Context(), "main")
		_, errPut := g.PutIssue(t.Context(), forge.Issue{Number: 1, Mark: "dev"})
		_, errStatuses := g.Statuses(t.Context(), "a")
		_, errApprovals := g.Approvals(t.Context(), 1)
		_, errMissing := g.MergeBlockers(t.Context(), 1)
		_, errMembers := g.TeamMembers(t.Context(), "acme/platform")
		_, errAuthor := g.CommitAuthor(t.Context(), "a")
		_, errRuns := g.WorkflowRuns(t.Context(), forge.Workflow{Name: "a.yaml", Ref: "main"}, start)
		_, errAnnotate := g.AnnotateChange(t.Context(), forge.Change{Commit: "a"}, "x", nil)
		_, errCommit := g.CreateCommit(t.Context(), forge.Commit{Branch: "b"})
		for _, err := range []error{
			errPulls, errOpen, errEdit, errIssues, errPut, g.ClosePull(t.Context(), 1, "x"), g.SetStatus(t.Context(), "a", forge.Status{}),
			errStatuses, errApprovals, errMissing, errMembers, errAuthor, errRuns, errAnnotate, errCommit,
			g.DispatchWorkflow(t.Context(), forge.Workflow{Name: "a.yaml", Ref: "main"}),
			errChanges, g.MergePull(t.Context(), 1, "a"), g.EnableAutoMerge(t.Context(), 1, "a"), g.PutComment(t.Context(), 1, "a", "x"),
		} {
			if err == nil && status != http.StatusOK {
				t.Errorf("%d: there is no error", status)
			}
			seen = append(seen, fmt.Sprintf("%v %+v %#v %s", err, err, err, hint(err)))
		}
		seen = append(seen, fmt.Sprintf("%v %+v", g, g))
		if text := strings.Join(seen, "\n"); strings.Contains(text, secret) {
			t.Errorf("%d: the token is in\n%s", status, text)
		}
	}
}

// What GitHub fails over once is asked for again where that is the same.
func TestGitHubRepeatsUpdates(t *testing.T) {
	s, g, pull := opened(t)
	s.Inject(githubfake.Fault{Times: 1, Method: "PATCH", Status: http.StatusInternalServerError, Body: message("x")})
	s.Inject(githubfake.Fault{Times: 1, Method: "POST", Path: "/repos/*/*/statuses/*", Status: http.StatusInternalServerError, Body: message("x")})
	edited := pull.Proposal
	edited.Title = "y"
	now, err := g.EditPull(t.Context(), pull.Number, edited)
	check(t, err)
	equal(t, "edited", now.Proposal, edited)
	status := forge.Status{Context: "dev", Outcome: forge.Success}
	wantError(t, g.SetStatus(t.Context(), pull.Commit, status), "500") // it would be there twice
	check(t, g.SetStatus(t.Context(), pull.Commit, status))
}

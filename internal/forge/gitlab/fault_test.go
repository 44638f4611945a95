package gitlab_test

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
	"github.com/fairlead-io/fairlead/internal/forge/gitlab"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
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
	case errors.Is(err, forge.ErrNotFound):
		return "not found"
	case errors.Is(err, forge.ErrExists):
		return "exists"
	case errors.Is(err, forge.ErrMoved):
		return "moved"
	case errors.Is(err, forge.ErrNotReady):
		return "not yet"
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

var date = start.Format(http.TimeFormat)

func headers(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// proposal is one from out/dev to main.
func proposal() forge.Proposal {
	return forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"}
}

func TestGitLabRefuses(t *testing.T) {
	const message = `{"message":"No, because"}`
	limited := headers("RateLimit-Remaining", "0", "RateLimit-Reset", unix(start.Add(40*time.Second)), "Date", date)
	tests := map[string]struct {
		fault            gitlabfake.Fault
		kind, text, hint string
	}{
		"401": {gitlabfake.Fault{Status: 401, Body: `{"message":"401 Unauthorized"}`}, "other",
			"list merge requests of acme/platform.team/gitops: the token was not accepted: 401: 401 Unauthorized", "expired"},
		"401, revoked": {gitlabfake.Fault{Status: 401, Body: `{"error":"invalid_token","error_description":"Token was revoked."}`}, "other",
			"the token was not accepted: 401: invalid_token: Token was revoked.", "expired"},
		"403": {gitlabfake.Fault{Status: 403, Body: message}, "other", "the token may not do that: 403: No, because", "the role Developer"},
		"403, scope": {gitlabfake.Fault{Status: 403, Body: `{"error":"insufficient_scope","error_description":"Higher privileges are required.","scope":"api read_api"}`},
			"other", "insufficient_scope", "make a token with the scope api read_api"},
		"403, scope not named":           {gitlabfake.Fault{Status: 403, Body: `{"error":"insufficient_scope"}`}, "other", "may not", "make a token with the scope api"},
		"403, limit":                     {gitlabfake.Fault{Status: 403, Body: "Forbidden", Header: headers("Retry-After", "600")}, "until 10m0s", "", ""},
		"429, GitLab's headers":          {gitlabfake.Fault{Status: 429, Body: "Retry later", Header: limited}, "until 41s", "no more requests until 2026-01-01T12:00:41Z", ""},
		"429, headers with X":            {gitlabfake.Fault{Status: 429, Header: headers("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", unix(start.Add(5*time.Second)), "Date", date)}, "until 6s", "", ""},
		"429, Retry-After":               {gitlabfake.Fault{Status: 429, Body: "Retry later", Header: headers("Retry-After", "7")}, "until 7s", "", ""},
		"429, Retry-After before others": {gitlabfake.Fault{Status: 429, Header: headers("Retry-After", "7", "RateLimit-Remaining", "0", "RateLimit-Reset", "1")}, "until 7s", "", ""},
		"429, other clock": {gitlabfake.Fault{Status: 429, Header: headers("RateLimit-Remaining", "0", "RateLimit-Reset", unix(start.Add(50*time.Second)),
			"Date", start.Add(20*time.Second).Format(http.TimeFormat))}, "until 31s", "", ""},
		"429, without end":   {gitlabfake.Fault{Status: 429, Header: headers("RateLimit-Remaining", "0", "RateLimit-Reset", unix(start.AddDate(9, 0, 0)), "Date", date)}, "until 1h0m0s", "", ""},
		"429 without a time": {gitlabfake.Fault{Status: 429}, "until 1m0s", "", ""},
		"404":                {gitlabfake.Fault{Status: 404, Body: `{"message":"404 Project Not Found"}`}, "not found", "gitops: not found: 404", "the token may see it"},
		"409":                {gitlabfake.Fault{Status: 409, Body: `{"message":"409 Conflict"}`}, "other", "409: 409 Conflict", ""},
		"400":                {gitlabfake.Fault{Status: 400, Body: `{"message":{"title":["is long","is odd"],"base":["is gone"]}}`}, "other", "400: base is gone, title is long, is odd", ""},
		"422":                {gitlabfake.Fault{Status: 422, Body: `{"error":"state does not have a valid value"}`}, "other", "422: state does not have a valid value", ""},
		"500":                {gitlabfake.Fault{Status: 500, Body: `{"message":"500 Internal Server Error"}`}, "other", "500: 500 Internal Server Error", ""},
		"502 of a page":      {gitlabfake.Fault{Status: 502, Body: "<html>Whoops</html>"}, "other", "list merge requests of acme/platform.team/gitops: 502", ""},
		"503 of nothing":     {gitlabfake.Fault{Status: 503}, "other", "gitops: 503", ""},
		"no JSON":            {gitlabfake.Fault{Status: 200, Body: "<html>Sign in</html>"}, "other", "invalid character", ""},
		"half of JSON":       {gitlabfake.Fault{Status: 200, Body: `[{"iid":1}`}, "other", "unexpected EOF", ""},
		"another JSON":       {gitlabfake.Fault{Status: 200, Body: `{"iid":1}`}, "other", "cannot unmarshal", ""},
		"empty":              {gitlabfake.Fault{Status: 200}, "other", "the answer is empty", ""},
		"truncated":          {gitlabfake.Fault{CutAfter: 40}, "other", "the answer was cut off", ""},
		"too long":           {gitlabfake.Fault{Status: 200, Body: strings.Repeat(" ", 11<<20) + "[]"}, "other", "more than 10 MiB", ""},
		"long message":       {gitlabfake.Fault{Status: 500, Body: `{"message":"` + strings.Repeat("a\\n", 5000) + `"}`}, "other", "…", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, branch := gitLabServer(t)
			branch("out/dev")
			now := start
			g := gitLab(t, s, forge.Options{Now: func() time.Time { return now }})
			pull, err := g.OpenPull(t.Context(), proposal())
			check(t, err)
			test.fault.Times = 1
			s.Inject(test.fault)
			before := len(s.Requests())
			_, err = g.Pulls(t.Context(), "out/dev", "main")
			equal(t, "kind", kindOf(err), test.kind)
			wantError(t, err, test.text)
			equal(t, "requests", len(s.Requests())-before, 1)
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

func TestGitLabWaitsWithoutAsking(t *testing.T) {
	s, _ := gitLabServer(t)
	now := start
	o := forge.Options{Limiter: &forge.Limiter{}, Now: func() time.Time { return now }}
	one, other, stranger := gitLab(t, s, o), gitLab(t, s, o), gitLab(t, s, forge.Options{})
	s.Inject(gitlabfake.Fault{Times: 1, Status: 200, Body: "[]", Header: headers(
		"RateLimit-Limit", "1", "RateLimit-Remaining", "0", "RateLimit-Reset", unix(start.Add(time.Minute)), "Date", date)})
	look := func(g *gitlab.Forge) string {
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
	equal(t, "requests in the end", len(s.Requests()), 3)
}

func TestGitLabStalls(t *testing.T) {
	s, _ := gitLabServer(t)
	s.Inject(gitlabfake.Fault{Times: 1, Stall: true})
	g := gitLab(t, s, forge.Options{Client: &http.Client{Timeout: 20 * time.Millisecond}})
	_, err := g.Pulls(t.Context(), "out/dev", "main")
	equal(t, "kind", kindOf(err), "other")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got the error %v", err)
	}
	equal(t, "requests", len(s.Requests()), 1)
}

func TestGitLabIsRedirected(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(elsewhere.Close)
	to := func(status int, location string) gitlabfake.Fault {
		return gitlabfake.Fault{Times: 1, Status: status, Header: headers("Location", location)}
	}
	t.Run("to another host", func(t *testing.T) {
		for _, status := range []int{301, 302, 307, 308} {
			s, _ := gitLabServer(t)
			s.Inject(to(status, elsewhere.URL+"/secret?q=1"))
			_, err := gitLab(t, s, forge.Options{}).Pulls(t.Context(), "out/dev", "main")
			wantError(t, err, "list merge requests of "+project+": it was redirected to "+elsewhere.URL+", which is not given the token")
		}
		equal(t, "requests there", asked, 0)
	})
	t.Run("to the new path", func(t *testing.T) {
		s, branch := gitLabServer(t)
		branch("out/dev")
		g := gitLab(t, s, forge.Options{})
		_, err := g.OpenPull(t.Context(), proposal())
		check(t, err)
		issue, err := g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Open: true})
		check(t, err)
		s.Rename(project, "acme/gitops")
		for _, what := range []string{"merge_requests", "issues", "issues/1"} {
			f := to(301, s.API()+"/projects/acme%2Fgitops/"+what)
			f.Path = "/projects/acme%2Fplatform%2Eteam%2Fgitops/" + what
			s.Inject(f)
		}
		_, errPulls := g.Pulls(t.Context(), "out/dev", "main")
		_, errIssues := g.Issues(t.Context(), "dev")
		_, errPut := g.PutIssue(t.Context(), issue)
		for _, err := range []error{errPulls, errIssues, errPut} {
			wantError(t, err, "the project is now called acme/gitops")
		}
	})
	t.Run("so that a change is lost", func(t *testing.T) {
		s, _ := gitLabServer(t)
		s.Inject(to(302, s.API()+"/projects/1/merge_requests"))
		_, err := gitLab(t, s, forge.Options{}).OpenPull(t.Context(), proposal())
		wantError(t, err, "changes nothing")
	})
}

func TestGitLabAnswerToOpenIsLost(t *testing.T) {
	s, branch := gitLabServer(t)
	branch("out/dev")
	s.Inject(gitlabfake.Fault{Times: 1, Method: "POST", CutAfter: 10})
	g := gitLab(t, s, forge.Options{})
	want := proposal()
	want.Labels = []string{"promoted"}
	_, err := g.OpenPull(t.Context(), want)
	equal(t, "first", kindOf(err), "other")
	_, err = g.OpenPull(t.Context(), want)
	equal(t, "second", kindOf(err), "exists")
	wantError(t, err, "open a merge request of "+project+": it exists already: 409: Another open merge request already exists for this source branch: !1")
	all, err := g.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "found", all[0].Proposal, want)
}

// TestGitLabReadsTenThousandMergeRequests has more than GitLab counts.
func TestGitLabReadsTenThousandMergeRequests(t *testing.T) {
	const many = 10_001
	s, branch := gitLabServer(t)
	branch("out/dev")
	g := gitLab(t, s, forge.Options{})
	first, err := g.OpenPull(t.Context(), proposal())
	check(t, err)
	check(t, g.ClosePull(t.Context(), first.Number, "y"))
	s.Copies(project, first.Number, many-1)
	for _, want := range []int{http.StatusOK, http.StatusNotModified} {
		before := len(s.Requests())
		all, err := g.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		equal(t, "merge requests", len(all), many)
		equal(t, "newest and oldest", []int{all[0].Number, all[many-1].Number}, []int{many, 1})
		equal(t, "requests", len(s.Requests())-before, 101)
		for _, r := range s.Requests()[before:] {
			equal(t, "status", r.Status, want)
		}
	}
	// What does not concern us is not read.
	for what, ask := range map[string]func() (int, error){
		"of another environment": func() (int, error) { all, err := g.Pulls(t.Context(), "out/prod", "main"); return len(all), err },
		"that are open":          func() (int, error) { all, err := g.Changes(t.Context(), "main"); return len(all), err },
	} {
		before := len(s.Requests())
		found, err := ask()
		check(t, err)
		equal(t, "found and asked for those "+what, []int{found, len(s.Requests()) - before}, []int{0, 1})
	}
}

// TestGitLabHidesCredentials has a server that says in every answer what it was
// sent, and looks at all that comes out.
func TestGitLabHidesCredentials(t *testing.T) {
	const secret = "glpat-do-not-show-this"
	for _, status := range []int{200, 302, 400, 401, 403, 404, 409, 422, 429, 500} {
		echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/?"+req.Header.Get("Authorization"))
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"message":[{%q:%[1]q}],"error":%[1]q,"scope":%[1]q,"iid":"x"}`, req.Header.Get("Authorization"))
		}))
		t.Cleanup(echo.Close)
		var seen []string
		g, err := gitlab.New(forge.Options{
			Repo: project, API: echo.URL + "/api/v4", Now: func() time.Time { return start },
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
		_, errMembers := g.TeamMembers(t.Context(), "acme/team")
		_, errAuthor := g.CommitAuthor(t.Context(), "a")
		_, errMissing := g.MergeBlockers(t.Context(), 1)
		_, errRuns := g.WorkflowRuns(t.Context(), forge.Workflow{Name: "x", Ref: "main"}, start)
		_, errAnnotate := g.AnnotateChange(t.Context(), forge.Change{Number: 1, Commit: "a"}, "x", []forge.Annotation{{File: "x", Line: 1}})
		for _, err := range []error{
			errPulls, errOpen, errEdit, errIssues, errPut, g.ClosePull(t.Context(), 1, "x"), g.SetStatus(t.Context(), "a", forge.Status{}),
			errStatuses, errApprovals, errMembers, errAuthor, errMissing, errRuns, errAnnotate,
			g.DispatchWorkflow(t.Context(), forge.Workflow{Name: "x", Ref: "main"}),
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

// What GitLab fails over once is asked for again where that is the same.
func TestGitLabRepeatsUpdates(t *testing.T) {
	s, g, pull := opened(t)
	s.Inject(gitlabfake.Fault{Times: 1, Method: "PUT", Status: http.StatusInternalServerError, Body: `{"message":"x"}`})
	edited := pull.Proposal
	edited.Title = "y"
	now, err := g.EditPull(t.Context(), pull.Number, edited)
	check(t, err)
	equal(t, "edited", now.Proposal, edited)
}

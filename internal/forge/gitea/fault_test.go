package gitea_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
)

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
		"not found": forge.ErrNotFound, "exists": forge.ErrExists, "moved": forge.ErrMoved, "not yet": forge.ErrNotReady,
	} {
		if errors.Is(err, kind) {
			return name
		}
	}
	return "other"
}

func said(message string) string {
	return `{"message":"` + message + `","url":"https://gitea.example/api/swagger"}`
}

// TestFaults has lists that go wrong once. Nothing is for ever: an hour later all
// is well.
func TestFaults(t *testing.T) {
	tests := map[string]struct {
		fault            fault
		kind, text, hint string
	}{
		"401": {fault{status: 401, body: said("invalid username, password or token")}, "other",
			"list pull requests of acme/gitops: the token was not accepted: 401: invalid username, password or token", "expired"},
		"403, scope": {fault{status: 403, body: said("token does not have at least one of required scope(s), required=[read:repository], token scope=read:user")},
			"other", "the token may not do that: 403: token does not have", "make a token that has the scope read:repository"},
		"403, user":      {fault{status: 403}, "other", "the token may not do that: 403: Forbidden", "let the token's user write"},
		"404":            {fault{status: 404, body: said("The target couldn't be found.")}, "not found", "404: The target", "may see them"},
		"409":            {fault{status: 409, body: said("No, because")}, "other", "409: No, because", ""},
		"409, moved":     {fault{status: 409, body: said("head out of date")}, "moved", "", ""},
		"405":            {fault{status: 405, body: said("Not all required status checks successful")}, "not yet", "405: Not all", "what is missing"},
		"405, too early": {fault{status: 405, body: said("Please try again later")}, "not yet", "405: Please", ""},
		"405, never":     {fault{status: 405, body: said("User not allowed to merge PR")}, "other", "405: User not", "let the token's user merge"},
		"422":            {fault{status: 422, body: said("[]: x")}, "other", "422", ""},
		"429":            {fault{status: 429, header: http.Header{"Retry-After": {"7"}}}, "until 7s", "no more requests until", ""},
		"500":            {fault{status: 500, body: said("database is locked")}, "other", "500: database is locked", ""},
		"502 of a page":  {fault{status: 502, body: "<html>no</html>"}, "other", "list pull requests of acme/gitops: 502: Bad Gateway", ""},
		"no JSON":        {fault{status: 200, body: "<html>"}, "other", "invalid character", ""},
		"half of JSON":   {fault{status: 200, body: `[{"number":1}`}, "other", "unexpected end of JSON", ""},
		"truncated":      {fault{cut: 1}, "other", "the answer was cut off", ""},
		"empty":          {fault{empty: true}, "other", "the answer is empty", ""},
		"too long":       {fault{status: 200, body: strings.Repeat(" ", 11<<20) + "[]"}, "other", "more than 10 MiB", ""},
		"long message":   {fault{status: 500, body: said(strings.Repeat("a\\n", 5000))}, "other", "…", ""},
		"redirect":       {fault{status: 307, header: http.Header{"Location": {"http://elsewhere.example/x"}}}, "other", "http://elsewhere.example, which is not given the token", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := answering(t, map[string]string{"/pulls": `[` + pullObject(7, nil) + `]`, "/pulls/7": pullObject(7, nil)})
			now := start
			g := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{Now: func() time.Time { return now }})
			test.fault.times = 1
			p.inject(test.fault)
			_, err := g.Pulls(t.Context(), "out/dev", "main")
			equal(t, "kind", kindOf(err), test.kind)
			wantError(t, err, test.text)
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if !strings.Contains(hint(err), test.hint) {
				t.Errorf("got the hint %q, want one with %q", hint(err), test.hint)
			}
			now = start.Add(time.Hour)
			all, err := g.Pulls(t.Context(), "out/dev", "main")
			check(t, err)
			equal(t, "found afterwards", len(all), 1)
		})
	}
}

// answering is a server with fixed answers, by the end of the path; a list is one
// page.
func answering(t *testing.T, answers map[string]string) *proxy {
	t.Helper()
	p := serve(t, "")
	p.pass = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for end, answer := range answers {
			if !strings.HasSuffix(req.URL.Path, end) {
				continue
			}
			var list []any
			if json.Unmarshal([]byte(answer), &list) == nil {
				w.Header().Set("X-Total-Count", strconv.Itoa(len(list)))
			}
			fmt.Fprint(w, answer)
			return
		}
		http.NotFound(w, req)
	})
	return p
}

// pullObject is a pull request of ours as Gitea shows it, but for what change does.
func pullObject(number int, change func(p, head, base map[string]any)) string {
	repo := map[string]any{"full_name": "acme/gitops"}
	head := map[string]any{"label": "out/dev", "ref": "out/dev", "sha": "a", "repo_id": 3, "repo": repo}
	base := map[string]any{"label": "main", "ref": "main", "sha": "b", "repo_id": 3, "repo": repo}
	p := map[string]any{"number": number, "state": "open", "title": "x", "body": "x\n\n<!-- fairlead: dev -->", "head": head, "base": base}
	if change != nil {
		change(p, head, base)
	}
	text, _ := json.Marshal(p) // of strings and numbers
	return string(text)
}

// TestChecksAnswers has a server that gives what it was not asked for.
func TestChecksAnswers(t *testing.T) {
	list := []string{
		pullObject(1, nil), pullObject(1, nil), // on two pages, as another was opened in between
		pullObject(2, func(_, head, _ map[string]any) { head["label"] = "out" }),
		pullObject(3, func(_, _, base map[string]any) { base["label"] = "other" }),
		pullObject(4, func(_, head, _ map[string]any) { head["repo_id"] = 4 }),
		pullObject(5, func(_, head, _ map[string]any) { head["repo_id"], head["repo"] = -1, nil }),
		pullObject(6, func(p, _, _ map[string]any) { p["body"] = "mine" }),
		pullObject(7, func(p, _, _ map[string]any) { p["head"] = nil }),
		pullObject(8, func(p, _, _ map[string]any) { p["base"] = nil }),
		pullObject(9, func(_, head, _ map[string]any) { head["label"], head["ref"] = "", "refs/pull/9/head" }), // of AGit
		`null`, `{}`,
	}
	p := answering(t, map[string]string{"/pulls": "[" + strings.Join(list, ",") + "]", "/pulls/1": pullObject(1, nil)})
	found, err := connect(t, p.URL, "Acme/GitOps", "fake-token", forge.Options{}).Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "pull requests", len(found), 1)
	equal(t, "the first", found[0].Number, 1)
	_, err = connect(t, p.URL, "acme/old", "fake-token", forge.Options{}).Pulls(t.Context(), "out/dev", "main")
	wantError(t, err, "the repository is now called acme/gitops")
}

// TestManyPages has ten thousand pull requests, and a list that has no end.
func TestManyPages(t *testing.T) {
	const total = 10_000
	pages := func(t *testing.T, total int, header bool) *proxy {
		p := serve(t, "")
		p.pass = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			q := req.URL.Query()
			equal(t, "asked for", q.Get("base_branch")+" "+q.Get("state"), "main all")
			page, _ := strconv.Atoi(q.Get("page"))
			size, _ := strconv.Atoi(q.Get("limit"))
			if header {
				w.Header().Set("X-Total-Count", strconv.Itoa(total))
			}
			var some []string
			for n := total - (page-1)*size; n > max(0, total-page*size); n-- {
				some = append(some, pullObject(n, func(p, _, _ map[string]any) { p["state"] = "closed" }))
			}
			fmt.Fprintf(w, "[%s]", strings.Join(some, ","))
		})
		return p
	}
	for header, requests := range map[bool]int{true: 200, false: 201} {
		p := pages(t, total, header)
		found, err := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{}).Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		equal(t, "pull requests", len(found), total)
		equal(t, "requests", len(p.asked()), requests)
	}
	p := serve(t, "")
	p.pass = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[{}]") })
	_, err := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{}).Pulls(t.Context(), "out/dev", "main")
	wantError(t, err, "the list does not end")
}

func TestStalls(t *testing.T) {
	p := serve(t, "")
	p.inject(fault{stall: true})
	g := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{Client: &http.Client{Timeout: 20 * time.Millisecond}})
	_, err := g.Pulls(t.Context(), "out/dev", "main")
	wantKind(t, err, context.DeadlineExceeded)
	g = connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = g.Issues(ctx, "dev")
	wantKind(t, err, context.DeadlineExceeded)
}

// TestTokenIsNowhere has a server that says what it was sent.
func TestTokenIsNowhere(t *testing.T) {
	const secret = "s3cr3t-token"
	for _, status := range []int{200, 302, 400, 401, 403, 404, 409, 500} {
		p := serve(t, "")
		p.pass = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Location", "/?"+req.Header.Get("Authorization"))
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"message":%q,"title":%q}`, req.Header.Get("Authorization"), req.Header)
		})
		var seen []string
		g := connect(t, p.URL, "acme/gitops", secret, forge.Options{Observe: func(op string, _ time.Duration, err error) {
			seen = append(seen, fmt.Sprintf("%s %v %+v %#v", op, err, err, err))
		}})
		_, errPulls := g.Pulls(t.Context(), "out/dev", "main")
		_, errStatuses := g.Statuses(t.Context(), "a")
		_, errApprovals := g.Approvals(t.Context(), 1)
		_, errMembers := g.TeamMembers(t.Context(), "acme/team")
		_, errAuthor := g.CommitAuthor(t.Context(), "a")
		_, errMissing := g.MergeBlockers(t.Context(), 1)
		_, errRuns := g.WorkflowRuns(t.Context(), forge.Workflow{Name: "x", Ref: "main"}, start)
		_, errAnnotate := g.AnnotateChange(t.Context(), forge.Change{Number: 1, Commit: "a"}, "x", []forge.Annotation{{File: "x", Line: 1}})
		_, errOpen := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Labels: []string{"a"}})
		_, errEdit := g.EditPull(t.Context(), 1, forge.Proposal{Mark: "dev"})
		_, errIssues := g.Issues(t.Context(), "dev")
		_, errPut := g.PutIssue(t.Context(), forge.Issue{Number: 1, Mark: "dev"})
		_, errChanges := g.Changes(t.Context(), "main")
		_, errServer := g.Server(t.Context())
		for _, err := range []error{
			errPulls, errOpen, errEdit, errIssues, errPut, errServer,
			errStatuses, errApprovals, errMembers, errAuthor, errMissing, errRuns, errAnnotate,
			g.DispatchWorkflow(t.Context(), forge.Workflow{Name: "x", Ref: "main"}),
			errChanges, g.EnableAutoMerge(t.Context(), 1, "a"), g.PutComment(t.Context(), 1, "a", "x"),
			g.ClosePull(t.Context(), 1, "x"), g.MergePull(t.Context(), 1, "a"), g.SetStatus(t.Context(), "a", forge.Status{}),
		} {
			if err == nil && status != http.StatusOK {
				t.Errorf("%d: there is no error", status)
			}
			seen = append(seen, fmt.Sprintf("%v %+v %#v %s", err, err, err, hint(err)))
		}
		if text := strings.Join(seen, "\n"); strings.Contains(text, secret) {
			t.Errorf("%d: the token is in\n%s", status, text)
		}
	}
}

func TestOptions(t *testing.T) {
	token := func(context.Context) (string, error) { return "", nil }
	now := func() time.Time { return start }
	const at = "https://gitea.example"
	for want, o := range map[string]forge.Options{
		`"" is not the name`:     {Token: token, Now: now, API: at},
		`"acme" is not the name`: {Repo: "acme", Token: token, Now: now, API: at},
		`"a/b/c" is not`:         {Repo: "a/b/c", Token: token, Now: now, API: at},
		"needs a token":          {Repo: "a/b", Now: now, API: at},
		"a token and a clock":    {Repo: "a/b", Token: token, API: at},
		"is not an https URL":    {Repo: "a/b", Token: token, Now: now},
		"has a password":         {Repo: "a/b", Token: token, Now: now, API: "https://me:hunter2@gitea.example"},
	} {
		_, err := gitea.New(o)
		wantError(t, err, want)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
	p := answering(t, map[string]string{"/git/api/v1/version": `{"version":"11.0.1+gitea-1.22.0"}`})
	for _, end := range []string{"/git", "/git/", "/git/api/v1", "/git/api/v1/"} {
		is, err := connect(t, p.URL+end, "a/b", "fake-token", forge.Options{}).Server(t.Context())
		check(t, err)
		equal(t, "server", is, gitea.Server{Version: "11.0.1+gitea-1.22.0", Forgejo: true})
	}
}

// TestDropsLabel has a token whose user may not label: the issue could not be found
// again.
func TestDropsLabel(t *testing.T) {
	p := answering(t, map[string]string{"/labels": `[{"id":1,"name":"fairlead"}]`, "/issues": `[]`})
	p.inject(fault{method: "POST", path: "/issues", status: http.StatusCreated, body: `{"number":5,"labels":[]}`})
	g := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{})
	for range 3 {
		_, err := g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Open: true})
		wantError(t, err, `Gitea took issue 5 without its label "fairlead"`)
		if !strings.Contains(hint(err), "write to the repository and its issues") {
			t.Errorf("got the hint %q", hint(err))
		}
	}
	equal(t, "issues that were opened", p.writes(), 1)
}

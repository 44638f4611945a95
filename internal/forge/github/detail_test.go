package github_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

func TestGitHubOptions(t *testing.T) {
	token := func(context.Context) (string, error) { return "", nil }
	now := func() time.Time { return start }
	for want, o := range map[string]forge.Options{
		`"" is not the name`:       {Token: token, Now: now},
		`"acme" is not the name`:   {Repo: "acme", Token: token, Now: now},
		`"a/b/c" is not the name`:  {Repo: "a/b/c", Token: token, Now: now},
		`"a/b?c" is not the name`:  {Repo: "a/b?c", Token: token, Now: now},
		"needs a token":            {Repo: "a/b", Now: now},
		"a token and a clock":      {Repo: "a/b", Token: token},
		"is not an https URL":      {Repo: "a/b", Token: token, Now: now, API: "github.example"},
		"has a password":           {Repo: "a/b", Token: token, Now: now, API: "https://me:hunter2@github.example/api/v3"},
		"API is not an https URL":  {Repo: "a/b", Token: token, Now: now, API: "ftp://github.example"},
		"GitHub's API is not an h": {Repo: "a/b", Token: token, Now: now, API: "https://github.example?hunter2=hunter2"},
	} {
		_, err := github.New(o)
		wantError(t, err, want)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func TestGitHubTokenFails(t *testing.T) {
	s, _ := gitHubServer(t)
	broken := errors.New("the file is gone")
	g := gitHub(t, s, forge.Options{Token: func(context.Context) (string, error) { return "", broken }})
	_, err := g.Pulls(t.Context(), "out/dev", "main")
	if !errors.Is(err, broken) {
		t.Errorf("got the error %v", err)
	}
	equal(t, "requests", len(s.Requests()), 0)
}

// listing is a server that answers every request in the same way.
func listing(t *testing.T, answer func(*http.Request) string) *github.Forge {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("ETag", `"1"`)
		fmt.Fprint(w, answer(req))
	}))
	t.Cleanup(s.Close)
	g, err := github.New(forge.Options{
		Repo: repo, API: s.URL, Now: func() time.Time { return start },
		Token: func(context.Context) (string, error) { return "fake-token", nil },
	})
	check(t, err)
	return g
}

// TestGitHubChecksAnswers has a server that ignores what it is asked for.
func TestGitHubChecksAnswers(t *testing.T) {
	var all []string
	for i, p := range []struct{ repo, head, base, body string }{
		{`{"full_name":"Acme/GitOps"}`, "out/dev", "main", "x"},
		{`{"full_name":"acme/gitops"}`, "out", "main", "x"},
		{`{"full_name":"acme/gitops"}`, "out/dev", "other", "x"},
		{`{"full_name":"mallory/gitops"}`, "out/dev", "main", "x"},
		{`null`, "out/dev", "main", "x"}, // the fork is gone
	} {
		all = append(all, fmt.Sprintf(`{"number":%d,"state":"open","body":"%s\n\n<!-- fairlead: dev -->",
			"head":{"ref":%q,"repo":%s},"base":{"ref":%q,"repo":{"full_name":"acme/gitops"}}}`, i+1, p.body, p.head, p.repo, p.base))
	}
	var asked url.Values
	g := listing(t, func(req *http.Request) string {
		asked = req.URL.Query()
		return "[" + strings.Join(all, ",") + "," + all[0] + "]" // one twice, as when pages move
	})
	found, err := g.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "pull requests", len(found), 1)
	equal(t, "the first", found[0].Number, 1)
	equal(t, "asked for", asked, url.Values{
		"head": {"acme:out/dev"}, "base": {"main"}, "state": {"all"}, "sort": {"created"}, "direction": {"desc"}, "per_page": {"100"},
	})
}

// TestGitHubForgetsAnswers has answers of which two are more than is kept.
func TestGitHubForgetsAnswers(t *testing.T) {
	var conditional []bool
	g := listing(t, func(req *http.Request) string {
		conditional = append(conditional, req.Header.Get("If-None-Match") != "")
		return "[]" + strings.Repeat(" ", 9<<20)
	})
	for _, head := range []string{"a", "a", "b", "b", "a"} {
		_, err := g.Pulls(t.Context(), head, "main")
		check(t, err)
	}
	equal(t, "asked whether it has changed", conditional, []bool{false, true, false, true, false})
}

// TestGitHubCalls counts what a cycle costs.
func TestGitHubCalls(t *testing.T) {
	s, branch := gitHubServer(t)
	commit := branch("out/dev")
	var ops []string
	now := start
	g := gitHub(t, s, forge.Options{
		Now: func() time.Time { now = now.Add(time.Second); return now },
		Observe: func(op string, took time.Duration, err error) {
			if took <= 0 || err != nil {
				t.Errorf("%s took %s: %v", op, took, err)
			}
			ops = append(ops, op)
		},
	})
	want := forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x", Labels: []string{"promoted"}}
	cycle := func() {
		ops = nil
		all, err := g.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		if len(all) == 0 {
			_, err = g.OpenPull(t.Context(), want)
		} else {
			_, err = g.EditPull(t.Context(), all[0].Number, want)
		}
		check(t, err)
		check(t, g.SetStatus(t.Context(), commit, forge.Status{Context: "dev", Outcome: forge.Pending}))
	}
	cycle()
	equal(t, "the first", ops, []string{"list pull requests", "open a pull request", "label", "set a status"})
	want.Title = "y"
	cycle()
	equal(t, "a change", ops, []string{"list pull requests", "read a pull request", "edit a pull request"})
	cycle()
	equal(t, "no change", ops, []string{"list pull requests", "read a pull request"})
	equal(t, "requests", len(s.Requests()), 9)
}

func TestGitHubBodyThatPeopleEdited(t *testing.T) {
	const mark = "<!-- fairlead: dev -->"
	tests := map[string]struct{ body, text string }{
		"as it was":       {"x\n\n" + mark, "x"},
		"in the editor":   {"x\r\ny\r\n\r\n" + mark + "\r\n", "x\ny"},
		"text below":      {"x\n\n" + mark + "\n\nLGTM", "x"},
		"text above":      {"LGTM\n\nx\n\n" + mark, "LGTM\n\nx"},
		"a mark in text":  {"<!-- fairlead: prod -->\n\nx\n\n" + mark, "<!-- fairlead: prod -->\n\nx"},
		"nothing is left": {mark, ""},
		"bad labels":      {"x\n\n" + mark + "\n<!-- fairlead-labels: [1 -->", "x"},
	}
	s, branch := gitHubServer(t)
	branch("out/dev")
	g := gitHub(t, s, forge.Options{})
	want := forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x", Body: "x", Labels: []string{"promoted"}}
	pull, err := g.OpenPull(t.Context(), want)
	check(t, err)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.Write(repo, pull.Number, test.body)
			all, err := g.Pulls(t.Context(), "out/dev", "main")
			check(t, err)
			equal(t, "text", all[0].Body, test.text)
			equal(t, "mark", all[0].Mark, "dev")
			edited, err := g.EditPull(t.Context(), pull.Number, want)
			check(t, err)
			equal(t, "mended", edited, pull)
		})
	}
	s.Write(repo, pull.Number, "the mark is gone")
	_, err = g.EditPull(t.Context(), pull.Number, want)
	equal(t, "kind", kindOf(err), "not found")
	equal(t, "kind", kindOf(g.ClosePull(t.Context(), pull.Number, "")), "not found")
}

func TestGitHubCutsTexts(t *testing.T) {
	s, branch := gitHubServer(t)
	commit := branch("out/dev")
	g := gitHub(t, s, forge.Options{})
	check(t, g.SetStatus(t.Context(), commit, forge.Status{Context: "dev", Outcome: forge.Failure, Description: strings.Repeat("ü ", 141)}))
	equal(t, "description", s.Statuses(repo, commit)[0].Description, strings.Repeat("ü ", 69)+"ü…")
	pull, err := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x", Body: strings.Repeat("ü", 70_000)})
	check(t, err)
	if !strings.HasSuffix(pull.Body, "ü…") || len([]rune(pull.Body)) < 65_000 {
		t.Errorf("the body was cut to %d characters", len([]rune(pull.Body)))
	}
}

func TestGitHubRefusesMarks(t *testing.T) {
	s, _ := gitHubServer(t)
	g := gitHub(t, s, forge.Options{})
	for _, mark := range []string{"", " dev", "a\nb", "a --> b"} {
		_, err := g.OpenPull(t.Context(), forge.Proposal{Mark: mark, Head: "out/dev", Base: "main", Title: "x"})
		wantError(t, err, "cannot be a mark")
		_, err = g.PutIssue(t.Context(), forge.Issue{Mark: mark, Title: "x", Open: true})
		wantError(t, err, "cannot be a mark")
	}
	equal(t, "writes", s.Writes(), 0)
}

// TestGitHubDropsLabel has a token that may not label: the issue could not be found
// again.
func TestGitHubDropsLabel(t *testing.T) {
	s, _ := gitHubServer(t)
	s.Inject(githubfake.Fault{Method: "POST", Status: http.StatusCreated, Header: json, Body: `{"number":5,"labels":[]}`})
	g := gitHub(t, s, forge.Options{})
	for range 3 {
		_, err := g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Open: true})
		wantError(t, err, `GitHub took issue 5 without its label "fairlead"`)
		if !strings.Contains(hint(err), "Issues read and write") {
			t.Errorf("got the hint %q", hint(err))
		}
	}
	equal(t, "issues that were opened", s.Writes(), 1)
}

func TestGitHubIssueAsItIs(t *testing.T) {
	s, _ := gitHubServer(t)
	g := gitHub(t, s, forge.Options{})
	i, err := g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Body: "y"})
	check(t, err)
	equal(t, "open", i.Open, false)
	before := s.Writes()
	again, err := g.PutIssue(t.Context(), i)
	check(t, err)
	equal(t, "put again", again, i)
	equal(t, "writes", s.Writes()-before, 0)
	s.Write(repo, i.Number, "no mark")
	_, err = g.PutIssue(t.Context(), i)
	equal(t, "kind of a person's", kindOf(err), "not found")
}

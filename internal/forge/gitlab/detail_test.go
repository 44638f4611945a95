package gitlab_test

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
	"github.com/fairlead-io/fairlead/internal/forge/gitlab"
)

func TestGitLabOptions(t *testing.T) {
	token := func(context.Context) (string, error) { return "", nil }
	now := func() time.Time { return start }
	for want, o := range map[string]forge.Options{
		`"" is not the path`:      {Token: token, Now: now},
		`"acme" is not the path`:  {Repo: "acme", Token: token, Now: now},
		`"a/b/" is not the path`:  {Repo: "a/b/", Token: token, Now: now},
		`"a//b" is not the path`:  {Repo: "a//b", Token: token, Now: now},
		`"a/b?c" is not the path`: {Repo: "a/b?c", Token: token, Now: now},
		"needs a token":           {Repo: "a/b", Now: now},
		"a token and a clock":     {Repo: "a/b", Token: token},
		"is not an https URL":     {Repo: "a/b", Token: token, Now: now, API: "gitlab.example"},
		"has a password":          {Repo: "a/b", Token: token, Now: now, API: "https://me:hunter2@gitlab.example/api/v4"},
		"GitLab's API is not":     {Repo: "a/b", Token: token, Now: now, API: "https://gitlab.example?hunter2=hunter2"},
	} {
		_, err := gitlab.New(o)
		wantError(t, err, want)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
	_, err := gitlab.New(forge.Options{Repo: "a/b/c-d/e.f_g", Token: token, Now: now})
	check(t, err)
}

func TestGitLabTokenFails(t *testing.T) {
	s, _ := gitLabServer(t)
	broken := errors.New("the file is gone")
	g := gitLab(t, s, forge.Options{Token: func(context.Context) (string, error) { return "", broken }})
	_, err := g.Pulls(t.Context(), "out/dev", "main")
	if !errors.Is(err, broken) {
		t.Errorf("got the error %v", err)
	}
	equal(t, "requests", len(s.Requests()), 0)
}

// answering is a server that answers every request in the same way.
func answering(t *testing.T, answer func(*http.Request) string) *gitlab.Forge {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { fmt.Fprint(w, answer(req)) }))
	t.Cleanup(s.Close)
	g, err := gitlab.New(forge.Options{
		Repo: project, API: s.URL + "/api/v4", Now: func() time.Time { return start },
		Token: func(context.Context) (string, error) { return "glpat-fake", nil },
	})
	check(t, err)
	return g
}

// TestGitLabChecksAnswers has a server that ignores what it is asked for.
func TestGitLabChecksAnswers(t *testing.T) {
	const ours, mark = "Acme/Platform.team/GitOps", `x\n\n<!-- fairlead: dev -->`
	var all []string
	for i, m := range []struct {
		in, from, to     int
		head, base, text string
	}{
		{in: 5, from: 5, to: 5, head: "out/dev", base: "main", text: mark},
		{in: 5, from: 6, to: 5, head: "out/dev", base: "main", text: mark}, // of a fork
		{in: 6, from: 5, to: 6, head: "out/dev", base: "main", text: mark}, // to a fork
		{in: 5, from: 0, to: 5, head: "out/dev", base: "main", text: mark}, // the fork is gone
		{in: 5, from: 5, to: 5, head: "out", base: "main", text: mark},
		{in: 5, from: 5, to: 5, head: "out/dev", base: "other", text: mark},
		{in: 5, from: 5, to: 5, head: "out/dev", base: "main", text: "x"},
	} {
		all = append(all, fmt.Sprintf(`{"iid":%d,"project_id":%d,"source_project_id":%d,"target_project_id":%d,"state":"opened",
			"source_branch":%q,"target_branch":%q,"description":"%s","references":{"full":"%s!%[1]d"}}`, i+1, m.in, m.from, m.to, m.head, m.base, m.text, ours))
	}
	var asked *http.Request
	g := answering(t, func(req *http.Request) string {
		asked = req
		return "[" + strings.Join(all, ",") + "," + all[0] + ",null,{}]" // one twice, as when pages move
	})
	found, err := g.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "merge requests", len(found), 1)
	equal(t, "the first", found[0].Number, 1)
	equal(t, "path", asked.URL.EscapedPath(), "/api/v4/projects/acme%2Fplatform%2Eteam%2Fgitops/merge_requests")
	equal(t, "asked for", asked.URL.Query(), url.Values{
		"source_branch": {"out/dev"}, "target_branch": {"main"}, "state": {"all"}, "scope": {"all"}, "order_by": {"created_at"}, "sort": {"desc"},
		"page": {"1"}, "per_page": {"100"},
	})
}

// TestGitLabOddAnswers: client-go's own types panic on some of these.
func TestGitLabOddAnswers(t *testing.T) {
	const mark = `"description":"<!-- fairlead: dev -->"`
	for answer, want := range map[string]string{
		`{}`:                                    "is not one of Fairlead's",
		`null`:                                  "is not one of Fairlead's",
		`[]`:                                    "cannot unmarshal",
		`{"iid":1,"labels":[{"name":"x"},"y"]}`: "cannot unmarshal",
		`{"iid":1,"project_id":5,"source_project_id":5,"target_project_id":5,` + mark + `}`:                                          "does not say which project",
		`{"iid":1,"project_id":5,"source_project_id":5,"target_project_id":5,` + mark + `,"references":{"full":"mallory/gitops!1"}}`: "is now called mallory/gitops",
	} {
		g := answering(t, func(*http.Request) string { return answer })
		_, err := g.EditPull(t.Context(), 1, proposal())
		wantError(t, err, want)
		wantError(t, g.ClosePull(t.Context(), 1, "x"), want)
	}
	for answer, want := range map[string]string{
		`{}`:                     "is not one of Fairlead's",
		`{"id":null}`:            "is not one of Fairlead's",
		`{"iid":1,` + mark + `}`: "does not say which project",
	} {
		g := answering(t, func(*http.Request) string { return answer })
		_, err := g.PutIssue(t.Context(), forge.Issue{Number: 1, Mark: "dev"})
		wantError(t, err, want)
	}
}

// TestGitLabCalls counts what a cycle costs.
func TestGitLabCalls(t *testing.T) {
	s, branch := gitLabServer(t)
	commit := branch("out/dev")
	var ops []string
	now := start
	g := gitLab(t, s, forge.Options{
		Now: func() time.Time { now = now.Add(time.Second); return now },
		Observe: func(op string, took time.Duration, err error) {
			if took <= 0 || err != nil {
				t.Errorf("%s took %s: %v", op, took, err)
			}
			ops = append(ops, op)
		},
	})
	want := proposal()
	want.Labels = []string{"promoted"}
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
	equal(t, "the first", ops, []string{"list merge requests", "open a merge request", "set a status"})
	want.Title, want.Labels = "y", nil
	cycle()
	equal(t, "a change", ops, []string{"list merge requests", "read a merge request", "edit a merge request"})
	cycle()
	equal(t, "no change", ops, []string{"list merge requests", "read a merge request"})
	equal(t, "requests", len(s.Requests()), 8)
}

// TestGitLabQuickActions: a line like /close in a description would be obeyed.
func TestGitLabQuickActions(t *testing.T) {
	s, branch := gitLabServer(t)
	branch("out/dev")
	g := gitLab(t, s, forge.Options{})
	want := proposal()
	want.Body = "/close\n/label ~x\n  /merge\n\\/close\n\\\\/close\n    /merge\na /close\n/Approve"
	pull, err := g.OpenPull(t.Context(), want)
	check(t, err)
	equal(t, "opened", pull.Proposal, want)
	equal(t, "state", pull.State, forge.Open)
	equal(t, "written", strings.HasPrefix(s.Descriptions(project)[0], "\\/close\n\\/label ~x\n  \\/merge\n\\\\/close\n\\\\\\/close\n    /merge\na /close\n\\/Approve\n"), true)
	before := s.Writes()
	edited, err := g.EditPull(t.Context(), pull.Number, want)
	check(t, err)
	equal(t, "edited", edited, pull)
	equal(t, "writes of editing again", s.Writes()-before, 0)
	want.Body = "a\r/close\r\nb"
	pull, err = g.EditPull(t.Context(), pull.Number, want)
	check(t, err)
	equal(t, "state", pull.State, forge.Open)
	equal(t, "body", pull.Body, "a\n/close\nb")
	issue, err := g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Body: "/close", Open: true})
	check(t, err)
	equal(t, "issue", []any{issue.Body, issue.Open}, []any{"/close", true})
}

func TestGitLabBodyThatPeopleEdited(t *testing.T) {
	const mark = "<!-- fairlead: dev -->"
	s, branch := gitLabServer(t)
	branch("out/dev")
	g := gitLab(t, s, forge.Options{})
	want := proposal()
	want.Labels = []string{"promoted"}
	pull, err := g.OpenPull(t.Context(), want)
	check(t, err)
	for _, text := range []string{"y\n\n" + mark, "y\r\n\r\n" + mark + "\r\n", "y\n\n" + mark + "\n\nLGTM"} {
		s.Write(project, pull.Number, text)
		all, err := g.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		equal(t, "text", all[0].Body, "y")
		edited, err := g.EditPull(t.Context(), pull.Number, want)
		check(t, err)
		equal(t, "mended", edited, pull)
	}
	s.Write(project, pull.Number, "the mark is gone")
	_, err = g.EditPull(t.Context(), pull.Number, want)
	equal(t, "kind", kindOf(err), "not found")
	equal(t, "kind", kindOf(g.ClosePull(t.Context(), pull.Number, "")), "not found")
}

func TestGitLabRefusesNames(t *testing.T) {
	s, _ := gitLabServer(t)
	g := gitLab(t, s, forge.Options{})
	for _, mark := range []string{"", " dev", "a\nb", "a --> b"} {
		want := proposal()
		want.Mark = mark
		_, err := g.OpenPull(t.Context(), want)
		wantError(t, err, "cannot be a mark")
		_, err = g.PutIssue(t.Context(), forge.Issue{Mark: mark, Title: "x", Open: true})
		wantError(t, err, "cannot be a mark")
	}
	for _, label := range []string{"", " a", "a,b"} {
		want := proposal()
		want.Labels = []string{"promoted", label}
		_, errOpen := g.OpenPull(t.Context(), want)
		_, errEdit := g.EditPull(t.Context(), 1, want)
		for _, err := range []error{errOpen, errEdit} {
			wantError(t, err, fmt.Sprintf("%q cannot be a label on GitLab", label))
			equal(t, "hint", hint(err), "use a name without commas, and without spaces around it")
		}
	}
	equal(t, "writes", s.Writes(), 0)
}

// TestGitLabStatusIsAlreadySo has another process that said it before.
func TestGitLabStatusIsAlreadySo(t *testing.T) {
	s, branch := gitLabServer(t)
	commit := branch("out/dev")
	status := forge.Status{Context: "dev", Outcome: forge.Pending, Description: strings.Repeat("ü ", 256)}
	for range 2 {
		check(t, gitLab(t, s, forge.Options{}).SetStatus(t.Context(), commit, status))
	}
	equal(t, "refused", s.Requests()[1].Status, http.StatusBadRequest)
	equal(t, "statuses", len(s.Statuses(project, commit)), 1)
	equal(t, "description", s.Statuses(project, commit)[0].Description, strings.Repeat("ü ", 127)+"…")

	status.Outcome = forge.Success
	for range 2 { // who comes later says it again
		check(t, gitLab(t, s, forge.Options{}).SetStatus(t.Context(), commit, status))
	}
	equal(t, "status", counting(s.Statuses(project, commit))[0].Outcome, forge.Success)
}

func TestGitLabStatusOfNoCommit(t *testing.T) {
	s, _ := gitLabServer(t)
	err := gitLab(t, s, forge.Options{}).SetStatus(t.Context(), strings.Repeat("1", 40), forge.Status{Context: "dev", Outcome: forge.Success})
	equal(t, "kind", kindOf(err), "not found")
}

// TestGitLabDropsLabel has a token that may not label: the issue could not be found
// again.
func TestGitLabDropsLabel(t *testing.T) {
	s, _ := gitLabServer(t)
	s.Reporter = false
	g := gitLab(t, s, forge.Options{})
	for range 3 {
		_, err := g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Open: true})
		wantError(t, err, `GitLab took issue 1 without its label "fairlead"`)
		if !strings.Contains(hint(err), "the role Reporter") {
			t.Errorf("got the hint %q", hint(err))
		}
	}
	equal(t, "issues that were opened", s.Writes(), 1)
}

func TestGitLabIssueAsItIs(t *testing.T) {
	s, _ := gitLabServer(t)
	g := gitLab(t, s, forge.Options{})
	i, err := g.PutIssue(t.Context(), forge.Issue{Mark: "dev", Title: "x", Body: "y"})
	check(t, err)
	equal(t, "open", i.Open, false)
	before := s.Writes()
	again, err := g.PutIssue(t.Context(), i)
	check(t, err)
	equal(t, "put again", again, i)
	equal(t, "writes", s.Writes()-before, 0)
	s.WriteIssue(project, i.Number, "no mark")
	_, err = g.PutIssue(t.Context(), i)
	equal(t, "kind of a person's", kindOf(err), "not found")
}

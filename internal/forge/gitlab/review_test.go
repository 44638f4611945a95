package gitlab_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitlab"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
)

// opened is a GitLab with a merge request of ours.
func opened(t *testing.T) (*gitlabfake.Server, *gitlab.Forge, forge.Pull) {
	t.Helper()
	s, branch := gitLabServer(t)
	branch("out/dev")
	g := gitLab(t, s, forge.Options{})
	pull, err := g.OpenPull(t.Context(), proposal())
	check(t, err)
	return s, g, pull
}

// TestGitLabRefusesToMerge has merges that are refused once, now and later.
func TestGitLabRefusesToMerge(t *testing.T) {
	for name, test := range map[string]struct {
		fault            gitlabfake.Fault
		kind, text, hint string
	}{
		"401": {gitlabfake.Fault{Status: 401, Body: `{"message":"401 Unauthorized"}`}, "other", "the token's user may not merge this: 401", "Protected branches"},
		"403": {gitlabfake.Fault{Status: 403, Body: `{"message":"403 Forbidden"}`}, "other", "the token may not do that: 403", "the role Developer"},
		"404": {gitlabfake.Fault{Status: 404, Body: `{"message":"404 Not Found"}`}, "not found", "404", ""},
		"405": {gitlabfake.Fault{Status: 405, Body: `{"message":"405 Method Not Allowed"}`}, "not yet", "it cannot be merged yet: 405", "what is missing"},
		"406": {gitlabfake.Fault{Status: 406, Body: `{"message":"Branch cannot be merged"}`}, "not yet", "406: Branch cannot be merged", ""},
		"409": {gitlabfake.Fault{Status: 409, Body: `{"message":"SHA does not match HEAD of source branch: a"}`}, "moved", "409: SHA does not match", "looked at again"},
		"422": {gitlabfake.Fault{Status: 422, Body: `{"message":"Branch cannot be merged"}`}, "not yet", "422: Branch cannot be merged", ""},
		"429": {gitlabfake.Fault{Status: 429, Header: headers("Retry-After", "7")}, "until 7s", "", ""},
		"500": {gitlabfake.Fault{Status: 500, Body: `{"message":"500 Internal Server Error"}`}, "other", "500", ""},
		"cut": {gitlabfake.Fault{CutAfter: 5}, "other", "the answer was cut off", ""},
	} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %t", name, later), func(t *testing.T) {
				s, g, pull := opened(t)
				test.fault.Times, test.fault.Method, test.fault.Path = 1, "PUT", "/projects/*/merge_requests/1/merge"
				s.Inject(test.fault)
				merge := g.MergePull
				if later {
					merge = g.EnableAutoMerge
				}
				err := merge(t.Context(), pull.Number, pull.Commit)
				equal(t, "kind", kindOf(err), test.kind)
				wantError(t, err, test.text)
				if !strings.Contains(hint(err), test.hint) {
					t.Errorf("got the hint %q, want one with %q", hint(err), test.hint)
				}
				check(t, gitLab(t, s, forge.Options{}).MergePull(t.Context(), pull.Number, pull.Commit)) // which knows of no limit
			})
		}
	}
}

// TestGitLabAutoMerges: a pipeline that runs is waited for even if nothing requires
// it, and one that failed is no success.
func TestGitLabAutoMerges(t *testing.T) {
	for outcome, want := range map[forge.Outcome]string{forge.Pending: "none open", forge.Failure: "not yet open", forge.Success: "none merged"} {
		s, g, pull := opened(t)
		check(t, g.SetStatus(t.Context(), pull.Commit, forge.Status{Context: "ci", Outcome: outcome}))
		got := kindOf(g.EnableAutoMerge(t.Context(), pull.Number, pull.Commit))
		before := s.Writes()
		if got == "none" {
			check(t, g.EnableAutoMerge(t.Context(), pull.Number, pull.Commit))
		}
		equal(t, "writes of asking again", s.Writes()-before, 0)
		all, err := g.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		equal(t, string(outcome), got+" "+string(all[0].State), want)
	}
}

func TestGitLabCommentIsLost(t *testing.T) {
	s, g, pull := opened(t)
	for _, fault := range []gitlabfake.Fault{
		{Times: 1, Method: "POST", Path: "/projects/*/merge_requests/*/notes", CutAfter: 5},
		{Times: 1, Method: "GET", Path: "/projects/*/merge_requests/*/notes", Status: 500},
		{Times: 1, Method: "PUT", Path: "/projects/*/merge_requests/*/notes/*", Status: 403},
	} {
		s.Inject(fault)
		text := fault.Method
		if err := g.PutComment(t.Context(), pull.Number, "preview", text); err == nil {
			t.Errorf("%s: there is no error", fault.Method)
		}
		check(t, g.PutComment(t.Context(), pull.Number, "preview", text))
		equal(t, "comments", s.Comments(project, pull.Number), []string{text + "\n\n<!-- fairlead-comment: preview -->"})
	}
	asked := len(s.Requests())
	check(t, g.PutComment(t.Context(), pull.Number, "preview", "PUT"))
	equal(t, "requests of saying it again", len(s.Requests())-asked, 1)
	s.Inject(gitlabfake.Fault{Times: 1, Path: "/user", Status: 200, Body: "{}"})
	wantError(t, gitLab(t, s, forge.Options{}).PutComment(t.Context(), pull.Number, "preview", "y"), "GitLab did not say")
}

// TestGitLabChecksChanges has a server that ignores what it is asked for.
func TestGitLabChecksChanges(t *testing.T) {
	change := func(number, from int, state, base, text, project string) string {
		return fmt.Sprintf(`{"iid":%d,"project_id":5,"source_project_id":%d,"target_project_id":5,"state":%q,"source_branch":"mine","sha":"a",
			"target_branch":%q,"description":%q,"title":"x","references":{"full":"%s!1"}}`, number, from, state, base, text, project)
	}
	const mark = "<!-- fairlead: dev -->"
	all := []string{
		change(1, 5, "opened", "main", "", project), change(1, 5, "opened", "main", "", project), // on two pages
		change(2, 5, "merged", "main", "", project), change(3, 5, "opened", "other", "", project),
		change(4, 0, "opened", "main", mark, project), // the fork is gone
		change(5, 6, "opened", "main", mark, project), change(6, 5, "opened", "main", mark, project), "null", "{}",
	}
	found, err := answering(t, func(*http.Request) string { return "[" + strings.Join(all, ",") + "]" }).Changes(t.Context(), "main")
	check(t, err)
	of := func(number int, fork bool) forge.Change {
		return forge.Change{Number: number, Head: "mine", Commit: "a", Base: "main", Title: "x", Fork: fork}
	}
	equal(t, "changes", found, []forge.Change{of(5, true), of(4, true), of(1, false)})
	renamed := "[" + change(1, 5, "opened", "main", "", "acme/new") + "]"
	_, err = answering(t, func(*http.Request) string { return renamed }).Changes(t.Context(), "main")
	wantError(t, err, "the project is now called acme/new")
}

// TestGitLabRefusesToCancel: GitLab answers 201 to a refusal as well.
func TestGitLabRefusesToCancel(t *testing.T) {
	s, g, pull := opened(t)
	check(t, g.SetStatus(t.Context(), pull.Commit, forge.Status{Context: "ci", Outcome: forge.Pending}))
	check(t, g.EnableAutoMerge(t.Context(), pull.Number, pull.Commit))
	refusal := gitlabfake.Fault{
		Times: 1, Method: "POST", Path: "/projects/*/merge_requests/*/cancel_merge_when_pipeline_succeeds", Status: 201,
		Body: `{"status":"error","message":"Can't cancel the automatic merge","http_status":406}`,
	}
	s.Inject(refusal)
	wantError(t, g.CancelAutoMerge(t.Context(), pull.Number), "Can't cancel the automatic merge")
	check(t, g.CancelAutoMerge(t.Context(), pull.Number))
	check(t, g.SetStatus(t.Context(), pull.Commit, forge.Status{Context: "ci", Outcome: forge.Success}))
	all, err := g.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "state", all[0].State, forge.Open)
}

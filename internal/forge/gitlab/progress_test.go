package gitlab_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
)

// TestGitLabStatuses has jobs of several pipelines, and those that may fail.
func TestGitLabStatuses(t *testing.T) {
	s, branch := gitLabServer(t)
	commit := branch("out/dev")
	for _, said := range []gitlabfake.Status{
		{Name: "build", State: "failed", Pipeline: 1}, {Name: "build", State: "success", Pipeline: 2, By: "alice"}, {Name: "build", State: "failed", Pipeline: 1},
		{Name: "lint", State: "failed", AllowFailure: true}, {Name: "deploy", State: "manual", AllowFailure: true, Description: "when you like"},
		{Name: "approve", State: "manual"}, {Name: "docs", State: "skipped"}, {Name: "old", State: "canceled"}, {Name: "soon", State: "waiting_for_resource"},
		{Name: "odd", State: "reconsidered", AllowFailure: true},
	} {
		s.SayStatus(project, commit, said)
	}
	all, err := gitLab(t, s, forge.Options{}).Statuses(t.Context(), commit)
	check(t, err)
	var got []string
	for _, st := range all {
		got = append(got, fmt.Sprintf("%s %s %s", st.Context, st.Outcome, st.Description))
	}
	equal(t, "statuses", got, []string{
		"approve pending ", "build failure ", "deploy success when you like", "docs success ", "lint success failed, which is allowed",
		"odd pending ", "old failure ", "soon pending ",
	})
	_, err = gitLab(t, s, forge.Options{}).Statuses(t.Context(), strings.Repeat("1", 40))
	equal(t, "kind of no commit", kindOf(err), "not found")
}

func TestGitLabApprovals(t *testing.T) {
	const versions = `[{"id":3,"head_commit_sha":"b","created_at":"2026-01-01T12:30:00Z"},
		{"id":1,"head_commit_sha":"a","created_at":"2026-01-01T10:00:00Z"},{"id":2,"head_commit_sha":"b","created_at":"2026-01-01T12:00:00Z"}]`
	const by = `{"user":{"username":"%s"},"approved_at":%s}`
	for name, test := range map[string]struct{ approved, versions, want string }{
		"none":                          {`{"approved_by":[]}`, versions, ""},
		"nobody is named":               {`{}`, versions, ""},
		"of the head, by time":          {"[" + fmt.Sprintf(by, "zoe", `"2026-01-01T12:00:00Z"`) + "," + fmt.Sprintf(by, "bob", `"2026-01-01T11:59:59Z"`) + "]", versions, "zoe"},
		"before the target moved":       {"[" + fmt.Sprintf(by, "zoe", `"2026-01-01T12:10:00Z"`) + "]", versions, "zoe"},
		"sorted":                        {"[" + fmt.Sprintf(by, "zoe", `"2026-01-01T13:00:00Z"`) + "," + fmt.Sprintf(by, "bob", `"2026-01-01T14:00:00Z"`) + "]", versions, "bob zoe"},
		"a server that says no time":    {"[" + fmt.Sprintf(by, "zoe", `null`) + "]", versions, "zoe"},
		"a server that has no versions": {"[" + fmt.Sprintf(by, "zoe", `"2026-01-01T12:00:00Z"`) + "]", `[]`, "zoe"},
		"a user that is gone":           {`[{"user":null,"approved_at":"2026-01-01T13:00:00Z"}]`, versions, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := answering(t, func(req *http.Request) string {
				switch {
				case strings.HasSuffix(req.URL.Path, "/versions"):
					return test.versions
				case strings.HasPrefix(test.approved, "["):
					return `{"approved_by":` + test.approved + `}`
				}
				return test.approved
			})
			all, err := g.Approvals(t.Context(), 1)
			check(t, err)
			var names []string
			for _, a := range all {
				if a.Refused == "" {
					names = append(names, a.Approver)
				}
			}
			equal(t, "by", strings.Join(names, " "), test.want)
		})
	}
}

func TestGitLabMembers(t *testing.T) {
	s, _ := gitLabServer(t)
	s.PageSize = 2
	s.Group("acme", "zoe", "bob", "-mallory")
	s.Group("acme/platform", "alice", "bob")
	s.Group("acme/other", "eve")
	for team, want := range map[string][]string{"acme/platform": {"alice", "bob", "zoe"}, "acme": {"bob", "zoe"}} {
		got, err := gitLab(t, s, forge.Options{}).TeamMembers(t.Context(), team)
		check(t, err)
		equal(t, team, got, want)
	}
	_, err := gitLab(t, s, forge.Options{}).TeamMembers(t.Context(), "acme/no")
	wantError(t, err, "the group acme/no: list a group's members of "+project+": not found: 404")
}

// TestGitLabAuthors: everybody can have a name that is another one's address.
func TestGitLabAuthors(t *testing.T) {
	const person = `{"username":%q,"public_email":%q,"email":%q}`
	for name, test := range map[string]struct{ email, found, want string }{
		"a public address":  {"Bob@example.com", fmt.Sprintf(person, "bob", "bob@example.com", ""), "bob"},
		"for administrator": {"bob@example.com", fmt.Sprintf(person, "bob", "", "bob@example.com"), "bob"},
		"only the name":     {"bob@example.com", fmt.Sprintf(person, "mallory", "", ""), ""},
		"one of two":        {"bob@example.com", fmt.Sprintf(person, "mallory", "m@example.com", "") + "," + fmt.Sprintf(person, "bob", "bob@example.com", ""), "bob"},
		"nobody":            {"bob@example.com", "", ""},
		"no address":        {"", fmt.Sprintf(person, "mallory", "", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := answering(t, func(req *http.Request) string {
				if strings.HasSuffix(req.URL.Path, "/users") {
					return "[" + test.found + "]"
				}
				return fmt.Sprintf(`{"author_email":%q}`, test.email)
			}).CommitAuthor(t.Context(), "abc")
			check(t, err)
			equal(t, "author", got, test.want)
		})
	}
}

func TestGitLabMissing(t *testing.T) {
	const looking = "GitLab is still looking whether it can be merged"
	for fields, want := range map[string]string{
		`"detailed_merge_status":"mergeable"`:                                 "",
		`"detailed_merge_status":"not_approved"`:                              "approvals are missing",
		`"detailed_merge_status":"ci_must_pass"`:                              "its pipeline has to succeed",
		`"detailed_merge_status":"need_rebase"`:                               "it has to be rebased onto the branch that it is for",
		`"detailed_merge_status":"unchecked"`:                                 looking,
		`"detailed_merge_status":"moon_phase","merge_status":"can_be_merged"`: `GitLab says "moon_phase"`,
		`"merge_status":"can_be_merged"`:                                      "",
		`"merge_status":"cannot_be_merged"`:                                   "it conflicts with the branch that it is for",
		`"merge_status":"checking"`:                                           looking,
		`"title":"x"`:                                                         looking,
		`"state":"merged","detailed_merge_status":"not_open"`:                 "",
		`"state":"closed"`:                                                    "it is closed",
	} {
		got, err := answering(t, func(*http.Request) string {
			return fmt.Sprintf(`{"iid":1,"references":{"full":"%s!1"},%s}`, project, fields)
		}).MergeBlockers(t.Context(), 1)
		check(t, err)
		equal(t, fields, strings.Join(got, "; "), want)
	}
	_, err := answering(t, func(*http.Request) string { return `{"iid":1,"references":{"full":"acme/new!1"}}` }).MergeBlockers(t.Context(), 1)
	wantError(t, err, "is now called acme/new")
}

func TestGitLabDispatchIsRefused(t *testing.T) {
	s, _ := gitLabServer(t)
	g := gitLab(t, s, forge.Options{})
	w := forge.Workflow{Name: "smoke.yaml", Ref: "main"}
	wantError(t, g.DispatchWorkflow(t.Context(), w), "start a pipeline of "+project+": 400: base Missing CI config file")
	configure(t, s)
	w.Inputs = map[string]string{"FAIRLEAD_WORKFLOW": "deploy.yaml"}
	err := g.DispatchWorkflow(t.Context(), w)
	wantError(t, err, "an input is called FAIRLEAD_WORKFLOW")
	equal(t, "hint", hint(err), "give the input another name")
	s.Inject(gitlabfake.Fault{Method: "POST", Status: 403, Body: `{"error":"insufficient_scope","scope":"api"}`})
	err = g.DispatchWorkflow(t.Context(), forge.Workflow{Name: "smoke.yaml", Ref: "main"})
	equal(t, "hint", hint(err), "make a token with the scope api")
}

// TestGitLabRunsOfOthers has pipelines that are none of the workflow.
func TestGitLabRunsOfOthers(t *testing.T) {
	s, _ := gitLabServer(t)
	configure(t, s)
	g := gitLab(t, s, forge.Options{})
	smoke := map[string]string{"FAIRLEAD_WORKFLOW": "smoke.yaml"}
	s.StartPipeline(project, "main", "web", true, smoke)
	s.StartPipeline(project, "main", "push", true, nil)
	s.StartPipeline(project, "main", "api", false, smoke) // that we may not look into
	s.StartPipeline(project, "main", "api", true, map[string]string{"FAIRLEAD_WORKFLOW": "deploy.yaml"})
	s.StartPipeline(project, "main", "trigger", true, smoke)
	w := forge.Workflow{Name: "smoke.yaml", Ref: "main"}
	runs, err := g.WorkflowRuns(t.Context(), w, time.Time{})
	check(t, err)
	equal(t, "runs", len(runs), 1)
	for state, want := range map[string]forge.Run{
		"running": {Outcome: forge.Pending}, "manual": {Outcome: forge.Pending}, "success": {Outcome: forge.Success, Reason: "success"},
		"canceled": {Outcome: forge.Failure, Reason: "canceled"}, "skipped": {Outcome: forge.Failure, Reason: "skipped"},
	} {
		s.SetPipeline(project, runs[0].ID, state)
		now, err := g.WorkflowRuns(t.Context(), w, runs[0].Started)
		check(t, err)
		want.ID, want.Title, want.Started, want.URL = runs[0].ID, "Pipeline #"+runs[0].ID, runs[0].Started, runs[0].URL
		equal(t, state, now, []forge.Run{want})
	}
	for range 50 {
		check(t, g.DispatchWorkflow(t.Context(), w))
	}
	before := len(s.Requests())
	runs, err = g.WorkflowRuns(t.Context(), w, time.Time{})
	check(t, err)
	equal(t, "runs and requests", []int{len(runs), len(s.Requests()) - before}, []int{20, 21})
	s.Inject(gitlabfake.Fault{Times: 1, Path: "/projects/*/pipelines/*/variables", Status: 500})
	_, err = g.WorkflowRuns(t.Context(), w, time.Time{})
	wantError(t, err, "read a pipeline's variables of "+project+": 500")
}

// change opens a merge request that changes line 10 of a file of 20 lines, and adds
// one.
func change(t *testing.T, s *gitlabfake.Server) (forge.Change, func(file, text string) string) {
	t.Helper()
	w := s.Git.Work(t, project)
	w.Pull("main")
	text := strings.Repeat("a\n", 9) + "old\n" + strings.Repeat("a\n", 10)
	w.Write("fleet.yaml", text)
	w.Commit("begin")
	w.Push("HEAD:main")
	push := func(file, text string) string {
		t.Helper()
		w.Write(file, text)
		id := w.Commit("change")
		w.Push("HEAD:mine")
		return id
	}
	push("fleet.yaml", strings.Replace(text, "old\n", "new\nmore\n", 1))
	commit := push("new.yaml", "a\nb\n")
	number := s.Propose(project, gitlabfake.Proposed{Source: "mine", Target: "main", Title: "mine"})
	return forge.Change{Number: number, Head: "mine", Commit: commit, Base: "main"}, push
}

func at(file string, line int) forge.Annotation {
	return forge.Annotation{File: file, Line: line, Text: "/close\n\nit is wrong"}
}

func TestGitLabAnnotates(t *testing.T) {
	s, _ := gitLabServer(t)
	c, push := change(t, s)
	g := gitLab(t, s, forge.Options{})
	annotate := func(c forge.Change, notes ...forge.Annotation) []forge.Annotation {
		t.Helper()
		left, err := g.AnnotateChange(t.Context(), c, "preview", notes)
		check(t, err)
		return left
	}
	wanted := []forge.Annotation{
		at("fleet.yaml", 6), at("fleet.yaml", 7), at("fleet.yaml", 10), at("fleet.yaml", 11), at("fleet.yaml", 14), at("fleet.yaml", 15), at("fleet.yaml", 99),
		at("new.yaml", 2), at("README.md", 1), at("gone.yaml", 1), at("new.yaml", 2),
	}
	equal(t, "left", annotate(c, wanted...), []forge.Annotation{
		at("fleet.yaml", 6), at("fleet.yaml", 15), at("fleet.yaml", 99), at("README.md", 1), at("gone.yaml", 1),
	})
	lines := func() (all []string) {
		for _, n := range s.Notes(project, c.Number) {
			line := fmt.Sprintf("%s:%d", n.File, n.Line)
			if n.Resolved {
				line += " resolved"
			}
			all = append(all, line)
		}
		return all
	}
	equal(t, "lines", lines(), []string{"fleet.yaml:7", "fleet.yaml:10", "fleet.yaml:11", "fleet.yaml:14", "new.yaml:2"})

	// A push changes one of the files: GitLab moves along what is in the other one.
	s.Reply(project, c.Number, "really?") // to the first
	c.Commit = push("fleet.yaml", "x\n")
	before := s.Writes()
	annotate(c, at("new.yaml", 2), at("fleet.yaml", 1))
	equal(t, "lines after a push", lines(), []string{"fleet.yaml:7 resolved", "new.yaml:2", "fleet.yaml:1"})
	equal(t, "writes: one is resolved, three are removed, one is new", s.Writes()-before, 5)
	before = s.Writes()
	annotate(c, at("new.yaml", 2), at("fleet.yaml", 1))
	equal(t, "writes of annotating again", s.Writes()-before, 0)

	found, err := g.Changes(t.Context(), "main")
	check(t, err)
	equal(t, "open, as no text was a command", len(found), 1)
	equal(t, "left of none", annotate(c), []forge.Annotation(nil))
	equal(t, "lines in the end", lines(), []string{"fleet.yaml:7 resolved"})
	asked := len(s.Requests())
	annotate(c)
	equal(t, "requests when there is nothing to say", len(s.Requests())-asked, 1)
}

func TestGitLabAnnotatesNot(t *testing.T) {
	s, _ := gitLabServer(t)
	c, _ := change(t, s)
	g := gitLab(t, s, forge.Options{})
	older := c
	older.Commit = strings.Repeat("a", 40)
	_, err := g.AnnotateChange(t.Context(), older, "preview", []forge.Annotation{at("new.yaml", 1)})
	equal(t, "kind of an older commit", kindOf(err), "moved")
	_, err = g.AnnotateChange(t.Context(), c, "a --> b", []forge.Annotation{at("new.yaml", 1)})
	wantError(t, err, "cannot be a mark")
	equal(t, "writes", s.Writes(), 0)

	refused := gitlabfake.Fault{Times: 1, Method: "POST", Status: 400, Body: `{"message":"400 Bad request - Note {:line_code=>[\"must be a valid line code\"]}"}`}
	s.Inject(refused)
	left, err := g.AnnotateChange(t.Context(), c, "preview", []forge.Annotation{at("new.yaml", 1), at("new.yaml", 2)})
	check(t, err)
	equal(t, "left of what GitLab refuses", left, []forge.Annotation{at("new.yaml", 1)})
	refused.Body = `{"message":"400 Bad request - Note {:note=>[\"is too long\"]}"}`
	s.Inject(refused)
	_, err = g.AnnotateChange(t.Context(), c, "preview", []forge.Annotation{at("new.yaml", 1), at("new.yaml", 2)})
	wantError(t, err, "is too long")

	var many []forge.Annotation
	for i := range 60 {
		many = append(many, forge.Annotation{File: "new.yaml", Line: 1, Text: fmt.Sprint(i)})
	}
	left, err = g.AnnotateChange(t.Context(), c, "many", many)
	check(t, err)
	equal(t, "left of many", left, many[50:])
	const remove = "/projects/*/merge_requests/*/discussions/*/notes/*"
	for _, fault := range []struct{ method, path string }{
		{"DELETE", remove}, {"GET", "/projects/*/merge_requests/*/discussions"}, {"GET", "/projects/*/merge_requests/*"},
		{"GET", "/projects/*/merge_requests/*/diffs"},
	} {
		s.Inject(gitlabfake.Fault{Times: 1, Path: fault.path, Method: fault.method, Status: 500})
		_, err = g.AnnotateChange(t.Context(), c, "preview", []forge.Annotation{at("fleet.yaml", 10)})
		wantError(t, err, "of "+project+": 500")
	}
	_, err = g.AnnotateChange(t.Context(), c, "preview", []forge.Annotation{at("fleet.yaml", 10)})
	check(t, err)
	s.Inject(gitlabfake.Fault{Times: 1, Path: remove, Method: "DELETE", Status: 404}) // somebody else was faster
	_, err = g.AnnotateChange(t.Context(), c, "preview", nil)
	check(t, err)
}

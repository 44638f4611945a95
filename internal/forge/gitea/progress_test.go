package gitea_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// approvals has people whose reviews do not count.
func approvals(t *testing.T, r subject) {
	r.branch("out/dev")
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	r.server.Review(r.repo, "stranger", pull.Number, "APPROVED", false)
	r.server.Review(r.repo, "zoe", pull.Number, "APPROVED", true)
	r.server.Review(r.repo, "bob", pull.Number, "APPROVED", true)
	r.server.Review(r.repo, "bob", pull.Number, "COMMENT", true)
	all, err := r.Approvals(t.Context(), pull.Number)
	check(t, err)
	var names []string
	for _, a := range all {
		names = append(names, strings.TrimSpace(a.Approver+" "+a.Refused))
	}
	equal(t, "by", names, []string{"bob", "stranger does not count: no write access", "zoe"})
}

// required has a branch that asks for a status and approvals.
func required(t *testing.T, r subject) {
	r.server.ProtectWith(r.repo, "main", 2, "ci/*")
	commit := r.branch("out/dev")
	pull, err := r.OpenPull(t.Context(), proposal("out/dev"))
	check(t, err)
	r.server.Look(r.repo)
	lacks := func(want ...string) {
		t.Helper()
		got, err := r.MergeBlockers(t.Context(), pull.Number)
		check(t, err)
		equal(t, "missing", got, want)
	}
	lacks("the status ci/* is not there yet", "it needs 2 more of the 2 approvals that the branch asks for")
	check(t, r.SetStatus(t.Context(), commit, forge.Status{Context: "ci/a", Outcome: forge.Success}))
	check(t, r.SetStatus(t.Context(), commit, forge.Status{Context: "ci/b", Outcome: forge.Failure}))
	r.server.Review(r.repo, "bob", pull.Number, "APPROVED", true)
	lacks("the status ci/b is failure", "it needs 1 more of the 2 approvals that the branch asks for")
	check(t, r.SetStatus(t.Context(), commit, forge.Status{Context: "ci/b", Outcome: forge.Success}))
	r.server.Review(r.repo, "zoe", pull.Number, "APPROVED", true)
	lacks()
	check(t, r.ClosePull(t.Context(), pull.Number, "x"))
	lacks("it is closed")
}

// runs has a workflow that nobody runs, and one that is not there.
func runs(t *testing.T, r subject) {
	w := workflow(r.server, r.repo)
	check(t, r.DispatchWorkflow(t.Context(), w))
	all, err := r.WorkflowRuns(t.Context(), w, time.Time{})
	check(t, err)
	if len(all) != 1 {
		t.Fatalf("there are %d runs, want one", len(all))
	}
	equal(t, "run", all[0], forge.Run{ID: all[0].ID, Title: "write .gitea/workflows/smoke.yaml", Outcome: forge.Pending, Started: all[0].Started, URL: all[0].URL})
	if all[0].Started.Year() < 2020 || !strings.Contains(all[0].URL, r.repo+"/actions/runs/") {
		t.Errorf("the run is %+v", all[0])
	}
	w.Name = "deploy.yaml"
	wantKind(t, r.DispatchWorkflow(t.Context(), w), forge.ErrNotFound)
	none, err := r.WorkflowRuns(t.Context(), w, time.Time{})
	check(t, err)
	equal(t, "runs of another one", len(none), 0)
}

// annotates has lines that the diff does not show, and a push.
func annotates(t *testing.T, r subject) {
	r.server.Commit(r.repo, "mine", "fleet.yaml", strings.Repeat("a\n", 9))
	commit := r.server.Commit(r.repo, "mine", "ümlaut.yaml", "a\n")
	number := r.server.Propose(r.repo, "mine", "main", "mine")
	c := forge.Change{Number: number, Head: "mine", Base: "main", Commit: commit}
	at := func(file string, line int) forge.Annotation {
		return forge.Annotation{File: file, Line: line, Text: "it is wrong"}
	}
	shown := []forge.Annotation{at("fleet.yaml", 1), at("fleet.yaml", 9), at("ümlaut.yaml", 1)}
	left := []forge.Annotation{at("fleet.yaml", 10), at("README.md", 1), at("gone.yaml", 1)}
	got, err := r.AnnotateChange(t.Context(), c, "preview", append(append([]forge.Annotation{}, shown...), left...))
	check(t, err)
	equal(t, "left", got, left)
	equal(t, "shown", annotations(r.server, r.repo, number), shown)
	c.Commit = strings.Repeat("a", 40)
	_, err = r.AnnotateChange(t.Context(), c, "preview", []forge.Annotation{at("fleet.yaml", 1)})
	wantKind(t, err, forge.ErrMoved)
	equal(t, "shown of what has moved", len(annotations(r.server, r.repo, number)), 0)
}

func TestOutcomes(t *testing.T) {
	var all []string
	for i, state := range []string{"success", "warning", "skipped", "failure", "error", "pending", "reconsidered"} {
		all = append(all, fmt.Sprintf(`{"id":%d,"context":"c%d","status":%q,"creator":null}`, i+1, i, state))
	}
	p := answering(t, map[string]string{"/statuses": "[" + strings.Join(append(all, "null", `{"id":9,"context":"c0","status":"pending","creator":{"login":"bob"}}`), ",") + "]"})
	found, err := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{}).Statuses(t.Context(), "abc")
	check(t, err)
	var got []string
	for _, s := range found {
		got = append(got, string(s.Outcome)+" "+s.Author)
	}
	equal(t, "outcomes", got, []string{"pending bob", "success ", "success ", "failure ", "failure ", "pending ", "pending "})
}

// TestRunsEnd has what no test's server does: runs that have ended.
func TestRunsEnd(t *testing.T) {
	var all []string
	for i, end := range []string{"success", "failure", "cancelled", "skipped"} {
		all = append(all, fmt.Sprintf(`{"id":%d,"path":"smoke.yaml@refs/heads/main","event":"workflow_dispatch","run_number":%[1]d,"status":"completed",
			"conclusion":%q,"completed_at":"2026-01-01T12:00:00Z"}`, i+1, end))
	}
	all = append(all, `{"id":9,"path":"smoke.yaml@refs/heads/main","event":"push","status":"queued"}`, `null`,
		`{"id":8,"path":"smoke.yaml@refs/heads/main","event":"workflow_dispatch","status":"completed","conclusion":"success","completed_at":"2026-01-01T10:00:00Z"}`)
	p := answering(t, map[string]string{
		"/actions/runs": `{"total_count":6,"workflow_runs":[` + strings.Join(all, ",") + `]}`,
		"/jobs":         `{"jobs":[null,{"created_at":"2026-01-01T11:30:00Z"},{"created_at":"2026-01-01T11:00:00Z"}]}`,
	})
	g := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{})
	w := forge.Workflow{Name: "smoke.yaml", Ref: "main"}
	at := start.Add(-time.Hour)
	found, err := g.WorkflowRuns(t.Context(), w, at)
	check(t, err)
	run := func(id string, outcome forge.Outcome, reason string) forge.Run {
		return forge.Run{ID: id, Title: "Run " + id, Outcome: outcome, Reason: reason, Started: at}
	}
	equal(t, "runs", found, []forge.Run{
		run("4", forge.Failure, "skipped"), run("3", forge.Failure, "cancelled"), run("2", forge.Failure, "failure"), run("1", forge.Success, "success"),
	})
	same, err := g.WorkflowRuns(t.Context(), w, at.Add(time.Second-1)) // Gitea knows no part of a second
	check(t, err)
	equal(t, "runs in the same second", len(same), 4)
	later, err := g.WorkflowRuns(t.Context(), w, at.Add(time.Second))
	check(t, err)
	equal(t, "runs later", len(later), 0)
}

// TestAnswersStay has comments of ours that are out of date: people answered one.
func TestAnswersStay(t *testing.T) {
	const mark = `\n\n<!-- fairlead-comment: preview -->`
	comment := func(id, by, line int, more string) string {
		return fmt.Sprintf(`{"id":%d,"body":"x%s","path":"a.yaml","position":%d,"user":{"id":%d}%s}`, id, mark, line, by, more)
	}
	review := func(id, by, comments int, state string) string {
		return fmt.Sprintf(`{"id":%d,"user":{"id":%d},"state":%q,"comments_count":%d,"commit_id":"old"}`, id, by, state, comments)
	}
	p := answering(t, map[string]string{
		"/user": `{"id":3}`,
		"/pulls/7/reviews": "[" + strings.Join([]string{
			review(1, 3, 4, "COMMENT"), review(2, 4, 1, "COMMENT"), review(3, 3, 0, "COMMENT"), review(4, 3, 1, "PENDING"), review(5, 3, 1, "COMMENT"),
			`{"id":6,"user":null,"state":"COMMENT","comments_count":1}`,
		}, ",") + "]",
		"/reviews/1/comments": "[" + strings.Join([]string{
			comment(11, 3, 1, ""), comment(12, 4, 1, ""), comment(13, 3, 2, ""), comment(14, 3, 5, `,"resolver":{"id":4}`), comment(15, 4, 5, ""),
		}, ",") + "]",
		"/reviews/5/comments": "[" + comment(16, 3, 1, "") + "]",
	})
	p.inject(fault{method: "DELETE", status: 204})
	p.inject(fault{path: "/resolve", status: 204})
	g := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{})
	_, err := g.AnnotateChange(t.Context(), forge.Change{Number: 7, Commit: "a"}, "preview", nil)
	check(t, err)
	var writes []string
	for _, r := range p.asked() {
		if !strings.HasPrefix(r, "GET ") {
			writes = append(writes, strings.Replace(r, "/api/v1/repos/acme/gitops", "", 1))
		}
	}
	equal(t, "writes", writes, []string{"POST /pulls/comments/11/resolve", "DELETE /issues/comments/13", "DELETE /pulls/7/reviews/5"})
}

func TestUnseenTeams(t *testing.T) {
	for name, f := range map[string]fault{
		"organisation": {path: "/orgs/", status: 404, body: said("org not found")},
		"scope":        {path: "/orgs/", status: 403, body: said("token does not have at least one of required scope(s), required=[read:organization], token scope=x")},
		"team":         {path: "/teams/5", status: 403, body: said("Must be a team member")},
	} {
		p := answering(t, map[string]string{"/teams": `[{"id":5,"name":"Reviewers"}]`})
		p.inject(f)
		_, err := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{}).TeamMembers(t.Context(), "acme/reviewers")
		wantKind(t, err, forge.ErrNotFound)
		wantError(t, err, "the team acme/reviewers: ")
		if !strings.Contains(hint(err), "read:organization") {
			t.Errorf("%s: got the hint %q", name, hint(err))
		}
	}
}

// TestTenThousandPulls has a list that no test's server can have within a minute.
func TestTenThousandPulls(t *testing.T) {
	const many = 10_001
	p := serve(t, "")
	p.pass = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		page, _ := strconv.Atoi(req.URL.Query().Get("page"))
		size, _ := strconv.Atoi(req.URL.Query().Get("limit"))
		var list []string
		for n := many - (page-1)*size; n > 0 && len(list) < size; n-- {
			list = append(list, pullObject(n, func(p, _, _ map[string]any) { p["state"] = "closed" }))
		}
		w.Header().Set("X-Total-Count", strconv.Itoa(many))
		fmt.Fprint(w, "["+strings.Join(list, ",")+"]")
	})
	all, err := connect(t, p.URL, "acme/gitops", "fake-token", forge.Options{}).Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "pull requests", len(all), many)
	equal(t, "newest and oldest", []int{all[0].Number, all[many-1].Number}, []int{many, 1})
	equal(t, "requests", len(p.asked()), 201)
}

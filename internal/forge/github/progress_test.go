package github_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// outcomes returns "context outcome by" of what is said of a commit.
func outcomes(t *testing.T, g *github.Forge, commit string) (all []string) {
	t.Helper()
	said, err := g.Statuses(t.Context(), commit)
	check(t, err)
	for _, s := range said {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Context, s.Outcome, s.Author)))
	}
	return all
}

func TestGitHubReadsChecks(t *testing.T) {
	s, g, pull := opened(t)
	for _, conclusion := range []string{"success", "neutral", "skipped", "failure", "cancelled", "timed_out", "action_required", ""} {
		s.Check(repo, "actions", pull.Commit, "with "+conclusion, conclusion)
	}
	equal(t, "checks", outcomes(t, g, pull.Commit), []string{
		"with  pending actions", "with action_required failure actions", "with cancelled failure actions", "with failure failure actions",
		"with neutral success actions", "with skipped success actions", "with success success actions", "with timed_out failure actions",
	})
}

// TestGitHubReadsTheLaterOne has a status and a check run of one name.
func TestGitHubReadsTheLaterOne(t *testing.T) {
	s, g, pull := opened(t)
	say := func(state string) {
		s.Say(repo, "alice", pull.Commit, githubfake.Status{Context: "ci", State: state, URL: "https://ci.example"})
	}
	say("success")
	equal(t, "status", outcomes(t, g, pull.Commit), []string{"ci success alice"})
	s.Check(repo, "actions", pull.Commit, "ci", "failure")
	equal(t, "check", outcomes(t, g, pull.Commit), []string{"ci failure actions"})
	say("error")
	equal(t, "status again", outcomes(t, g, pull.Commit), []string{"ci failure alice"})
	s.Check(repo, "actions", pull.Commit, "ci", "failure")
	s.Check(repo, "actions", pull.Commit, "ci", "success")
	equal(t, "check that ran again", outcomes(t, g, pull.Commit), []string{"ci success actions"})
}

func TestGitHubReadsAllStatuses(t *testing.T) {
	s, g, pull := opened(t)
	s.Say(repo, "alice", pull.Commit, githubfake.Status{Context: "first", State: "success"})
	for i := range 250 {
		s.Say(repo, "bob", pull.Commit, githubfake.Status{Context: "again", State: "pending", Description: fmt.Sprint(i)})
		s.Check(repo, "actions", pull.Commit, fmt.Sprintf("check %03d", i), "success")
	}
	before := len(s.Requests())
	all, err := g.Statuses(t.Context(), pull.Commit)
	check(t, err)
	equal(t, "statuses", len(all), 252)
	equal(t, "the latest", all[0].Description, "249")
	equal(t, "requests", len(s.Requests())-before, 6)
}

func TestGitHubReviews(t *testing.T) {
	s, g, pull := opened(t)
	approved := func() (logins []string) {
		t.Helper()
		all, err := g.Approvals(t.Context(), pull.Number)
		check(t, err)
		for _, a := range all {
			if a.Refused == "" {
				logins = append(logins, a.Approver)
			}
		}
		return logins
	}
	s.Review(repo, "alice", pull.Number, "APPROVED")
	s.Review(repo, "alice", pull.Number, "COMMENTED")
	s.Review(repo, "", pull.Number, "APPROVED") // of an account that is gone
	equal(t, "a comment cancels nothing", approved(), []string{"alice"})
	s.Dismiss(repo, "alice", pull.Number)
	equal(t, "dismissed", len(approved()), 0)
	for i := range 120 {
		s.Review(repo, fmt.Sprintf("bob%03d", i), pull.Number, "APPROVED")
	}
	s.Review(repo, "alice", pull.Number, "APPROVED")
	equal(t, "many", len(approved()), 121)
}

func TestGitHubTeams(t *testing.T) {
	s, g, _ := opened(t)
	var logins []string
	for i := range 230 {
		logins = append(logins, fmt.Sprintf("bob%03d", i))
	}
	s.Team("acme/all", logins...)
	got, err := g.TeamMembers(t.Context(), "acme/all")
	check(t, err)
	equal(t, "members", got, logins)
	for _, team := range []string{"acme/none", "acme", "a/b/c", "../x", ""} {
		_, err := g.TeamMembers(t.Context(), team)
		equal(t, "kind for "+team, kindOf(err), "not found")
		wantError(t, err, team)
	}
}

func TestGitHubAuthors(t *testing.T) {
	s, g, pull := opened(t)
	login, err := g.CommitAuthor(t.Context(), pull.Commit)
	check(t, err)
	equal(t, "without an account", login, "")
	s.Account("alice", "a@example.com")
	login, err = g.CommitAuthor(t.Context(), pull.Commit)
	check(t, err)
	equal(t, "with one", login, "alice")
	_, err = g.CommitAuthor(t.Context(), strings.Repeat("a", 40))
	equal(t, "kind of no commit", kindOf(err), "not found")
}

func TestGitHubSaysWhatIsMissing(t *testing.T) {
	type world struct {
		s      *githubfake.Server
		branch func(string) string
		pull   forge.Pull
	}
	for name, test := range map[string]struct {
		do   func(world)
		want []string
	}{
		"nothing":      {func(world) {}, nil},
		"not required": {func(w world) { w.s.Say(repo, "ci", w.pull.Commit, githubfake.Status{Context: "ci", State: "failure"}) }, nil},
		"closed":       {func(w world) { w.s.SetOpen(repo, w.pull.Number, false) }, []string{"It is closed"}},
		"merged":       {func(w world) { w.s.Merge(repo, w.pull.Number, false) }, nil},
		"a conflict":   {func(w world) { w.branch("main") }, []string{"It conflicts with main"}},
		"behind":       {func(w world) { w.s.Set(repo, githubfake.Settings{Strict: true}); onMain(t, w.s) }, []string{"It has not all that main has, and the branch asks for that"}},
		"a status":     {func(w world) { w.s.Set(repo, githubfake.Settings{Required: []string{"ci", "@lint"}}) }, []string{"The status @\u200blint is missing", "The status ci is missing"}},
		"of a ruleset": {func(w world) { w.s.Set(repo, githubfake.Settings{Required: []string{"ci"}, Ruleset: true}) }, []string{"The status ci is missing"}},
		"two approvals": {func(w world) {
			w.s.Set(repo, githubfake.Settings{Approvals: 2, Ruleset: true})
			w.s.Review(repo, "bob", w.pull.Number, "APPROVED")
		}, []string{"1 of 2 approvals are missing"}},
		"a review": {func(w world) { w.s.Set(repo, githubfake.Settings{Approvals: 1}) }, []string{"A rule of main is not met, perhaps a review or a status is missing; the pull request says which"}},
		"a status that is not good": {func(w world) {
			w.s.Set(repo, githubfake.Settings{Required: []string{"ci", "e2e"}})
			w.s.Say(repo, "ci", w.pull.Commit, githubfake.Status{Context: "ci", State: "pending"})
			w.s.Check(repo, "actions", w.pull.Commit, "e2e", "failure")
		}, []string{"The status ci is pending", "The status e2e is failure"}},
		"changes": {func(w world) {
			w.s.Set(repo, githubfake.Settings{Approvals: 1})
			w.s.Review(repo, "bob", w.pull.Number, "CHANGES_REQUESTED")
		}, []string{"bob asks for changes"}},
		"GitHub does not know": {func(w world) {
			w.s.Inject(githubfake.Fault{Path: "/repos/*/*/pulls/*", Status: 200, Header: json, Body: `{"number":1,"state":"open","mergeable_state":"unknown"}`})
		}, []string{"GitHub has not found out yet whether it can be merged"}},
		"a draft": {func(w world) {
			w.s.Inject(githubfake.Fault{Path: "/repos/*/*/pulls/*", Status: 200, Header: json, Body: `{"number":1,"state":"open","draft":true,"mergeable_state":"draft"}`})
		}, []string{"It is a draft"}},
		"an old server": {func(w world) {
			w.s.Set(repo, githubfake.Settings{Required: []string{"ci"}})
			w.s.Inject(githubfake.Fault{Path: "/repos/*/*/rules/branches/*", Status: 404, Header: json, Body: message("Not Found")})
		}, []string{"The status ci is missing"}},
		"rules that nobody may read": {func(w world) {
			w.s.Set(repo, githubfake.Settings{Required: []string{"ci"}})
			for _, path := range []string{"/repos/*/*/rules/branches/*", "/repos/*/*/branches/*"} {
				w.s.Inject(githubfake.Fault{Path: path, Status: 403, Header: json, Body: message("Upgrade to GitHub Pro")})
			}
		}, []string{"A rule of main is not met, perhaps a review or a status is missing; the pull request says which"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, branch := gitHubServer(t)
			branch("out/dev")
			g := gitHub(t, s, forge.Options{})
			pull, err := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: "x"})
			check(t, err)
			test.do(world{s, branch, pull})
			got, err := g.MergeBlockers(t.Context(), pull.Number)
			check(t, err)
			equal(t, "missing", got, test.want)
		})
	}
}

// onMain adds a file to main that is nowhere else.
func onMain(t *testing.T, s *githubfake.Server) {
	t.Helper()
	w := s.Git.Work(t, repo)
	w.Pull("main")
	w.Write("other.yaml", "x")
	w.Commit("other")
	w.Push("main")
}

// TestGitHubSaysWhatADraftLacks has a draft of a person, whom it does not matter.
func TestGitHubSaysWhatADraftLacks(t *testing.T) {
	s, branch := gitHubServer(t)
	branch("mine")
	number := s.Propose(repo, githubfake.Proposed{Head: "mine", Base: "main", Title: "x", Draft: true})
	got, err := gitHub(t, s, forge.Options{}).MergeBlockers(t.Context(), number)
	check(t, err)
	equal(t, "missing", got, []string{"It is a draft"})
}

func TestGitHubDoesNotDispatch(t *testing.T) {
	s, g, _ := opened(t)
	w := addWorkflow(t, s)
	for name, test := range map[string]struct {
		w                forge.Workflow
		kind, text, hint string
	}{
		"no such file":  {forge.Workflow{Name: "none.yaml", Ref: "main"}, "not found", "workflow none.yaml: dispatch a workflow of acme/gitops: not found: 404", ""},
		"no such ref":   {forge.Workflow{Name: w.Name, Ref: "nowhere"}, "other", "No ref found for: nowhere", "at nowhere"},
		"not on branch": {forge.Workflow{Name: w.Name, Ref: "out/dev"}, "other", "Workflow does not have 'workflow_dispatch' trigger", "default branch"},
		"other input":   {forge.Workflow{Name: w.Name, Ref: "main", Inputs: map[string]string{"colour": "red"}}, "other", `Unexpected inputs provided: ["colour"]`, "these inputs"},
		"no name":       {forge.Workflow{Ref: "main"}, "other", `"" at "main" is none`, "smoke.yaml"},
		"a path":        {forge.Workflow{Name: "../x", Ref: "main"}, "other", `"../x" at "main" is none`, "smoke.yaml"},
		"no ref":        {forge.Workflow{Name: w.Name}, "other", "is none", "branch or tag"},
	} {
		t.Run(name, func(t *testing.T) {
			err := g.DispatchWorkflow(t.Context(), test.w)
			equal(t, "kind", kindOf(err), test.kind)
			wantError(t, err, test.text)
			if !strings.Contains(hint(err), test.hint) {
				t.Errorf("got the hint %q, want one with %q", hint(err), test.hint)
			}
		})
	}
	runs, err := g.WorkflowRuns(t.Context(), w, time.Time{})
	check(t, err)
	equal(t, "runs", len(runs), 0)
	_, err = g.WorkflowRuns(t.Context(), forge.Workflow{Name: "none.yaml", Ref: "main"}, time.Time{})
	equal(t, "kind of runs of nothing", kindOf(err), "not found")
}

func TestGitHubReadsRuns(t *testing.T) {
	s, g, _ := opened(t)
	w := addWorkflow(t, s)
	check(t, g.DispatchWorkflow(t.Context(), w))
	all, err := g.WorkflowRuns(t.Context(), w, time.Time{})
	check(t, err)
	s.MoreRuns(repo, atoi(all[0].ID), 1499)
	before := len(s.Requests())
	all, err = g.WorkflowRuns(t.Context(), w, time.Time{})
	check(t, err)
	equal(t, "runs", len(all), 1000)
	equal(t, "requests", len(s.Requests())-before, 10)
	equal(t, "newest first", all[0].Started.After(all[999].Started), true)
	all, err = g.WorkflowRuns(t.Context(), w, all[9].Started.Add(time.Millisecond)) // GitHub's times are of seconds
	check(t, err)
	equal(t, "runs since", len(all), 10)
	for conclusion, want := range map[string]forge.Outcome{
		"success": forge.Success, "failure": forge.Failure, "skipped": forge.Failure, "cancelled": forge.Failure, "timed_out": forge.Failure,
	} {
		s.Finish(repo, atoi(all[0].ID), conclusion)
		now, err := g.WorkflowRuns(t.Context(), w, all[0].Started)
		check(t, err)
		equal(t, "run", []any{now[0].Outcome, now[0].Reason}, []any{want, conclusion})
	}
}

// annotations returns "file:line level" of what is shown.
func annotations(s *githubfake.Server, number int) (all []string) {
	for _, a := range s.Annotations(repo, "fairlead-app", number) {
		all = append(all, fmt.Sprintf("%s:%d %s", a.File, a.Line, a.Level))
	}
	return all
}

func TestGitHubAnnotates(t *testing.T) {
	s, _, pull := opened(t)
	g := asApp(t, s)
	c := forge.Change{Number: pull.Number, Commit: pull.Commit}
	s.Check(repo, "other-app", pull.Commit, "preview", "success")
	var notes []forge.Annotation
	for i := range 120 {
		notes = append(notes, forge.Annotation{File: "a.yaml", Line: i + 1, Warning: i%2 == 0, Text: "x"})
	}
	nowhere := []forge.Annotation{{File: "a.yaml", Text: "without a line"}, {Line: 3, Text: "without a file"}}
	annotate := func(notes ...forge.Annotation) {
		t.Helper()
		left, err := g.AnnotateChange(t.Context(), c, "preview", append(notes, nowhere...))
		check(t, err)
		equal(t, "left", left, nowhere)
	}
	equal(t, "checks of others", outcomes(t, g, pull.Commit), []string{"preview success other-app"})
	before := s.Writes()
	annotate(notes...)
	equal(t, "shown", len(annotations(s, pull.Number)), 120)
	equal(t, "the last", annotations(s, pull.Number)[119], "a.yaml:120 failure")
	equal(t, "in so many requests", s.Writes()-before, 3)
	annotate(notes[:50]...)
	equal(t, "shown", len(annotations(s, pull.Number)), 50)
	annotate()
	equal(t, "shown", len(annotations(s, pull.Number)), 0)
	equal(t, "checks", outcomes(t, g, pull.Commit), []string{"preview success fairlead-app"})
	equal(t, "in so many requests", s.Writes()-before, 5)
}

// TestGitHubAnnotatesInTheEnd has the second of three requests fail.
func TestGitHubAnnotatesInTheEnd(t *testing.T) {
	s, _, pull := opened(t)
	g := asApp(t, s)
	var notes []forge.Annotation
	for i := range 120 {
		notes = append(notes, forge.Annotation{File: "a.yaml", Line: i + 1, Text: "x"})
	}
	s.Inject(githubfake.Fault{Method: "PATCH", Status: 502, Times: 1})
	_, err := g.AnnotateChange(t.Context(), forge.Change{Commit: pull.Commit}, "preview", notes)
	equal(t, "kind", kindOf(err), "other")
	equal(t, "checks", outcomes(t, g, pull.Commit), []string{"preview pending fairlead-app"})
	_, err = g.AnnotateChange(t.Context(), forge.Change{Commit: pull.Commit}, "preview", notes)
	check(t, err)
	equal(t, "shown", len(annotations(s, pull.Number)), 120)
	equal(t, "checks", outcomes(t, g, pull.Commit), []string{"preview success fairlead-app"})
}

func TestGitHubAnnotatesOnlyAsApp(t *testing.T) {
	s, g, pull := opened(t)
	before, notes := len(s.Requests()), []forge.Annotation{{File: "a.yaml", Line: 1, Text: "x"}}
	left, err := g.AnnotateChange(t.Context(), forge.Change{Commit: pull.Commit}, "preview", notes)
	equal(t, "kind", kindOf(err), "unsupported")
	equal(t, "left", left, notes)
	equal(t, "requests", len(s.Requests())-before, 0)
}

// TestGitHubHasTenThousandPulls has a repository of many pull requests of others, and
// 10 of our branch.
func TestGitHubHasTenThousandPulls(t *testing.T) {
	s, g, first := opened(t)
	check(t, g.ClosePull(t.Context(), first.Number, "y"))
	theirs := s.Propose(repo, githubfake.Proposed{Head: branchBeside(t, s, "theirs"), Base: "main", Title: "theirs", Body: "<!-- fairlead: dev -->"})
	s.Copies(repo, theirs, 9990)
	s.Copies(repo, first.Number, 8)
	before := len(s.Requests())
	all, err := g.Pulls(t.Context(), "out/dev", "main")
	check(t, err)
	equal(t, "ours", len(all), 9)
	equal(t, "newest and oldest", []int{all[0].Number, all[8].Number}, []int{10_000, 1})
	equal(t, "requests", len(s.Requests())-before, 1)
	for _, state := range []string{"open", "new"} {
		before = len(s.Requests())
		pull, err := g.OpenPull(t.Context(), forge.Proposal{Mark: "dev", Head: "out/dev", Base: "main", Title: state})
		if state == "open" {
			check(t, err)
			equal(t, "number", pull.Number, 10_001)
		} else {
			equal(t, "kind", kindOf(err), "exists")
		}
		equal(t, "requests to open one", len(s.Requests())-before, 1)
	}
	changes, err := g.Changes(t.Context(), "main")
	check(t, err)
	equal(t, "changes", len(changes), 0)
}

// branchBeside makes a branch that is ahead of main.
func branchBeside(t *testing.T, s *githubfake.Server, name string) string {
	t.Helper()
	w := s.Git.Work(t, repo)
	w.Pull("main")
	gittest.Git(t, w.Dir, "checkout", "-qB", name)
	w.Write(name, "x")
	w.Commit(name)
	w.Push(name)
	return name
}

// TestGitHubStatusOfNothing sets a status of a commit that is not there.
func TestGitHubStatusOfNothing(t *testing.T) {
	_, g, _ := opened(t)
	err := g.SetStatus(t.Context(), strings.Repeat("a", 40), forge.Status{Context: "x", Outcome: forge.Success})
	wantError(t, err, "422: Validation Failed: No commit found for SHA: aaaa")
}

// TestGitHubChecksNeedPermission has a token that may not see check runs.
func TestGitHubChecksNeedPermission(t *testing.T) {
	s, g, pull := opened(t)
	s.Inject(githubfake.Fault{
		Path: "/repos/*/*/commits/*/check-runs", Status: http.StatusForbidden,
		Header: headers("X-Accepted-GitHub-Permissions", "checks=read"), Body: message("Resource not accessible by personal access token"),
	})
	_, err := g.Statuses(t.Context(), pull.Commit)
	wantError(t, err, "list check runs of acme/gitops: the token may not do that")
	equal(t, "hint", hint(err), "give the token or the App the permission checks=read")
}

// TestGitHubStrangers: in a public repository anybody can approve, and members may hide that
// they are members: who may write counts.
func TestGitHubStrangers(t *testing.T) {
	t.Parallel()
	review := func(login, association string) string {
		return fmt.Sprintf(`{"user":{"login":%q},"state":"APPROVED","commit_id":"c","author_association":%q,"submitted_at":"2026-01-01T00:00:00Z"}`, login, association)
	}
	asked := ""
	g := listing(t, func(req *http.Request) string {
		switch {
		case strings.HasSuffix(req.URL.Path, "/reviews"):
			return "[" + review("alice", "CONTRIBUTOR") + "," + review("bob", "MEMBER") + "," + review("mallory", "NONE") + "]"
		case strings.HasSuffix(req.URL.Path, "/permission"):
			asked += req.URL.Path + " "
			if strings.Contains(req.URL.Path, "/alice/") {
				return `{"permission":"write"}`
			}
			return `{"permission":"read"}`
		}
		return `{"number":1,"head":{"sha":"c"}}`
	})
	all, err := g.Approvals(t.Context(), 1)
	check(t, err)
	var got []string
	for _, a := range all {
		got = append(got, strings.TrimSpace(a.Approver+" "+a.Refused))
	}
	equal(t, "approvals", got, []string{"alice", "bob", "mallory " + forge.RefusedNoAccess})
	equal(t, "asked", asked, "/repos/acme/gitops/collaborators/alice/permission /repos/acme/gitops/collaborators/mallory/permission ")
}

package github_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

const repo = "acme/gitops"

func TestGitHub(t *testing.T) {
	forgetest.Run(t, subject)
	forgetest.RunMerger(t, subject)
	forgetest.RunReviewer(t, subject)
	forgetest.RunProgress(t, appSubject)
}

// appSubject is a GitHub to be tested by an App, which may do more.
func appSubject(t *testing.T) forgetest.Subject {
	s, branch := gitHubServer(t)
	return subjectOf(t, s, branch, asApp(t, s))
}

// asApp makes the forge that an App sees.
func asApp(t *testing.T, s *githubfake.Server) *github.Forge {
	t.Helper()
	key, text := sharedKey()
	s.Install("12", 77, &key.PublicKey)
	a, err := github.NewApp(github.AppOptions{ID: "12", Installation: 77, Key: text, API: s.API(), Now: func() time.Time { return start }})
	check(t, err)
	return gitHub(t, s, forge.Options{Token: a.Token, App: true})
}

// subject is a GitHub to be tested.
func subject(t *testing.T) forgetest.Subject {
	s, branch := gitHubServer(t)
	return subjectOf(t, s, branch, gitHub(t, s, forge.Options{}))
}

func subjectOf(t *testing.T, s *githubfake.Server, branch func(string) string, g *github.Forge) forgetest.Subject {
	s.PageSize = 25
	fork := ""
	return forgetest.Subject{
		Forge:  g,
		Sync:   func() {},
		Branch: branch,
		Merge:  func(number int) { s.Merge(repo, number, number%2 == 0) },
		Close:  func(number int) { s.SetOpen(repo, number, false) },
		Writes: s.Writes,
		Statuses: func(commit string) []forge.Status {
			return counting(s.Statuses(repo, commit))
		},
		Propose: func(fromFork bool, head, base, body string) {
			p := githubfake.Proposed{Head: head, Base: base, Title: "mine", Body: body}
			if fromFork && fork == "" {
				fork = s.Fork(repo, "mallory")
			}
			if fromFork {
				p.From = fork
			}
			s.Propose(repo, p)
		},
		Many:     27,
		Label:    func(number int, name string) { s.Label(repo, number, name) },
		Labels:   func(number int) []string { return s.Labels(repo, number) },
		Require:  func(status string) { s.Set(repo, githubfake.Settings{Required: []string{status}}) },
		Remark:   func(number int, body string) { s.Remark(repo, number, body) },
		Comments: func(number int) []string { return s.Comments(repo, number) },

		SayStatus: func(login, commit string, say forge.Status) {
			s.Say(repo, login, commit, githubfake.Status{Context: say.Context, State: string(say.Outcome), Description: say.Description, URL: say.URL})
		},
		Approve:        func(login string, number int) { s.Review(repo, login, number, "APPROVED") },
		RequestChanges: func(login string, number int) { s.Review(repo, login, number, "CHANGES_REQUESTED") },
		Team: func(logins ...string) string {
			s.Team("acme/platform", logins...)
			return "acme/platform"
		},
		Author:    func(login string) { s.Account(login, "a@example.com") },
		Workflow:  func() forge.Workflow { return addWorkflow(t, s) },
		Inputs:    func(id string) map[string]string { return s.Inputs(repo, atoi(id)) },
		FinishRun: func(id string, outcome forge.Outcome) { s.Finish(repo, atoi(id), string(outcome)) },
		Annotations: func(number int) (all []forge.Annotation) {
			for _, a := range s.Annotations(repo, "fairlead-app", number) {
				all = append(all, forge.Annotation{File: a.File, Line: a.Line, Warning: a.Level == "warning", Text: a.Text})
			}
			return all
		},
	}
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// addWorkflow adds a workflow to main.
func addWorkflow(t *testing.T, s *githubfake.Server) forge.Workflow {
	t.Helper()
	w := s.Git.Work(t, repo)
	w.Pull("main")
	w.Write(".github/workflows/smoke.yaml", "on:\n  workflow_dispatch:\n    inputs:\n      environment: {}\n      commit: {}\n")
	w.Commit("add a workflow")
	w.Push("main")
	return forge.Workflow{Name: "smoke.yaml", Ref: "main"}
}

func gitHubServer(t *testing.T) (*githubfake.Server, func(string) string) {
	t.Helper()
	s := githubfake.Serve(t)
	s.Create(repo)
	return s, forgetest.Brancher(t, s.Git, repo)
}

// gitHub makes a forge of a server; what o does not say is as most tests need it.
func gitHub(t *testing.T, s *githubfake.Server, o forge.Options) *github.Forge {
	t.Helper()
	o.Repo, o.API = cmp.Or(o.Repo, repo), cmp.Or(o.API, s.API())
	if o.Token == nil {
		o.Token = func(context.Context) (string, error) { return s.Token, nil }
	}
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	g, err := github.New(o)
	check(t, err)
	return g
}

// counting returns the statuses that count: the last of each context.
func counting(all []githubfake.Status) []forge.Status {
	last := map[string]forge.Status{}
	for _, s := range all {
		last[s.Context] = forge.Status{Context: s.Context, Outcome: forge.Outcome(s.State), Description: s.Description, URL: s.URL}
	}
	var sorted []forge.Status
	for _, s := range last {
		sorted = append(sorted, s)
	}
	slices.SortFunc(sorted, func(a, b forge.Status) int { return cmp.Compare(a.Context, b.Context) })
	return sorted
}

// start is when everything in these tests begins.
var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

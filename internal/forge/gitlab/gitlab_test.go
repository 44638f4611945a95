package gitlab_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitlab"
	"github.com/fairlead-io/fairlead/internal/testkit/forgetest"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
)

const project = "acme/platform.team/gitops"

func TestGitLab(t *testing.T) {
	forgetest.Run(t, subject)
	forgetest.RunMerger(t, subject)
	forgetest.RunReviewer(t, subject)
	forgetest.RunProgress(t, subject)
}

// subject is a GitLab to be tested.
func subject(t *testing.T) forgetest.Subject {
	s, branch := gitLabServer(t)
	s.PageSize = 25
	fork := ""
	return forgetest.Subject{
		Forge:  gitLab(t, s, forge.Options{}),
		Sync:   func() {},
		Branch: branch,
		Merge: func(number int) {
			s.Merge(project, number, gitlabfake.Merging{RemoveSource: true})
		},
		Close:  func(number int) { s.Close(project, number) },
		Writes: s.Writes,
		Statuses: func(commit string) []forge.Status {
			return counting(s.Statuses(project, commit))
		},
		Propose: func(fromFork bool, head, base, body string) {
			p := gitlabfake.Proposed{Source: head, Target: base, Title: "mine", Description: body}
			if fromFork && fork == "" {
				fork = s.Fork(project, "mallory")
			}
			if fromFork {
				p.From = fork
			}
			s.Propose(project, p)
		},
		Label:    func(number int, name string) { s.Label(project, number, name) },
		Labels:   func(number int) []string { return s.Labels(project, number) },
		Many:     27,
		Require:  func(string) { s.RequirePipeline(project) },
		Remark:   func(number int, body string) { s.Remark(project, number, body) },
		Comments: func(number int) []string { return s.Comments(project, number) },

		SayStatus: func(login, commit string, st forge.Status) {
			s.SayStatus(project, commit, gitlabfake.Status{Name: st.Context, State: words[st.Outcome], Description: st.Description, URL: st.URL, By: login})
		},
		Approve:        func(login string, number int) { s.Approve(project, number, login) },
		RequestChanges: func(login string, number int) { s.RequestChanges(project, number, login) },
		Team:           func(logins ...string) string { s.Group("acme/reviewers", logins...); return "acme/reviewers" },
		Author:         func(login string) { s.Account(login, "a@example.com") },
		Workflow: func() forge.Workflow {
			configure(t, s)
			return forge.Workflow{Name: "smoke.yaml", Ref: "main"}
		},
		Inputs: func(id string) map[string]string { return s.Variables(project, id) },
		FinishRun: func(id string, outcome forge.Outcome) {
			s.SetPipeline(project, id, words[outcome])
		},
		Annotations: func(number int) []forge.Annotation { return annotations(s, number) },
	}
}

var words = map[forge.Outcome]string{forge.Pending: "pending", forge.Success: "success", forge.Failure: "failed"}

// configure has main run pipelines.
func configure(t *testing.T, s *gitlabfake.Server) {
	t.Helper()
	w := s.Git.Work(t, project)
	w.Pull("main")
	w.Write(".gitlab-ci.yml", "smoke: {script: [\"true\"]}\n")
	w.Commit("run pipelines")
	w.Push("HEAD:main")
}

// annotations returns what people see at the lines of a merge request.
func annotations(s *gitlabfake.Server, number int) (all []forge.Annotation) {
	for _, n := range s.Notes(project, number) {
		text, _, _ := strings.Cut(n.Body, "\n\n<!-- fairlead-comment: ")
		kind, text, _ := strings.Cut(text, ":** ")
		all = append(all, forge.Annotation{File: n.File, Line: n.Line, Warning: kind == "**Warning", Text: text})
	}
	return all
}

func gitLabServer(t *testing.T) (*gitlabfake.Server, func(string) string) {
	t.Helper()
	s := gitlabfake.Serve(t)
	s.Create(project)
	return s, forgetest.Brancher(t, s.Git, project)
}

// gitLab makes a forge of a server; what o does not say is as most tests need it.
func gitLab(t *testing.T, s *gitlabfake.Server, o forge.Options) *gitlab.Forge {
	t.Helper()
	o.Repo, o.API = cmp.Or(o.Repo, project), cmp.Or(o.API, s.API())
	if o.Token == nil {
		o.Token = func(context.Context) (string, error) { return s.Token, nil }
	}
	if o.Now == nil {
		o.Now = func() time.Time { return start }
	}
	g, err := gitlab.New(o)
	check(t, err)
	return g
}

// counting returns the statuses that count: the last of each name.
func counting(all []gitlabfake.Status) []forge.Status {
	last := map[string]forge.Status{}
	for _, s := range all {
		last[s.Name] = forge.Status{Context: s.Name, Outcome: outcomes[s.State], Description: s.Description, URL: s.URL}
	}
	var sorted []forge.Status
	for _, s := range last {
		sorted = append(sorted, s)
	}
	slices.SortFunc(sorted, func(a, b forge.Status) int { return cmp.Compare(a.Context, b.Context) })
	return sorted
}

var outcomes = map[string]forge.Outcome{"pending": forge.Pending, "success": forge.Success, "failed": forge.Failure}

// start is when everything in these tests begins.
var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

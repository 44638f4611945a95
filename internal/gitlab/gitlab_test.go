package gitlab_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forgetest"
	"github.com/fairlead-io/fairlead/internal/gitlab"
	"github.com/fairlead-io/fairlead/internal/gitlabfake"
)

const project = "acme/platform.team/gitops"

func TestGitLab(t *testing.T) {
	forgetest.Run(t, subject)
	forgetest.RunMerger(t, subject)
	forgetest.RunReviewer(t, subject)
}

// subject is a GitLab to be tested.
func subject(t *testing.T) forgetest.Subject {
	s, branch := gitLabServer(t)
	s.PageSize = 25
	fork := ""
	return forgetest.Subject{
		Forge:  gitLab(t, s, gitlab.Options{}),
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
	}
}

func gitLabServer(t *testing.T) (*gitlabfake.Server, func(string) string) {
	t.Helper()
	s := gitlabfake.Serve(t)
	s.Create(project)
	return s, forgetest.Brancher(t, s.Git, project)
}

// gitLab makes a forge of a server; what o does not say is as most tests need it.
func gitLab(t *testing.T, s *gitlabfake.Server, o gitlab.Options) *gitlab.Forge {
	t.Helper()
	o.Project, o.API = cmp.Or(o.Project, project), cmp.Or(o.API, s.API())
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

// counting gives the statuses that count: the last of each name.
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

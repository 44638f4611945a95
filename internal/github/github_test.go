package github_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forgetest"
	"github.com/fairlead-io/fairlead/internal/github"
	"github.com/fairlead-io/fairlead/internal/githubfake"
)

const repo = "acme/gitops"

func TestGitHub(t *testing.T) {
	forgetest.Run(t, subject)
	forgetest.RunMerger(t, subject)
	forgetest.RunReviewer(t, subject)
}

// subject is a GitHub to be tested.
func subject(t *testing.T) forgetest.Subject {
	s, branch := gitHubServer(t)
	s.PageSize = 25
	fork := ""
	return forgetest.Subject{
		Forge:  gitHub(t, s, github.Options{}),
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
	}
}

func gitHubServer(t *testing.T) (*githubfake.Server, func(string) string) {
	t.Helper()
	s := githubfake.Serve(t)
	s.Create(repo)
	return s, forgetest.Brancher(t, s.Git, repo)
}

// gitHub makes a forge of a server; what o does not say is as most tests need it.
func gitHub(t *testing.T, s *githubfake.Server, o github.Options) *github.Forge {
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

// counting gives the statuses that count: the last of each context.
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

package github

import (
	"cmp"
	"context"
	"maps"
	"slices"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Statuses includes check runs; a check run's context is its name.
func (g *Forge) Statuses(ctx context.Context, commit string) ([]forge.CommitStatus, error) {
	// The combined status has no authors.
	said, err := listAll(g, "list statuses", func(o gh.ListOptions) ([]*gh.RepoStatus, *gh.Response, error) {
		return g.client.Repositories.ListStatuses(ctx, g.owner, g.name, commit, &o)
	})
	if err != nil {
		return nil, err
	}
	runs, err := g.listChecks(ctx, commit, "")
	if err != nil {
		return nil, err
	}
	latest := map[string]forge.CommitStatus{}
	for _, s := range said {
		if _, later := latest[s.GetContext()]; !later {
			latest[s.GetContext()] = forge.CommitStatus{
				Context: s.GetContext(), Outcome: outcomeOf(s.GetState()), Description: s.GetDescription(), URL: s.GetTargetURL(),
				Time: s.GetCreatedAt().Time, Author: s.GetCreator().GetLogin(),
			}
		}
	}
	for _, run := range runs {
		if s, old := readCheck(run), latest[run.GetName()]; old.Context == "" || s.Time.After(old.Time) {
			latest[s.Context] = s
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b forge.CommitStatus) int { return cmp.Compare(a.Context, b.Context) }), nil
}

// listChecks returns each App's latest check runs of a commit; name "" selects all.
func (g *Forge) listChecks(ctx context.Context, commit, name string) ([]*gh.CheckRun, error) {
	return listAll(g, "list check runs", func(o gh.ListOptions) ([]*gh.CheckRun, *gh.Response, error) {
		filter := &gh.ListCheckRunsOptions{Filter: gh.String("latest"), ListOptions: o}
		if name != "" {
			filter.CheckName = &name
		}
		found, answer, err := g.client.Checks.ListCheckRunsForRef(ctx, g.owner, g.name, commit, filter)
		if err != nil {
			return nil, answer, err
		}
		return found.CheckRuns, answer, nil
	})
}

func readCheck(run *gh.CheckRun) forge.CommitStatus {
	s := forge.CommitStatus{
		Context: run.GetName(), Outcome: forge.Pending, Description: run.GetOutput().GetTitle(), URL: run.GetHTMLURL(),
		Time: run.GetStartedAt().Time, Author: run.GetApp().GetSlug(),
	}
	if run.GetStatus() == "completed" {
		s.Outcome, s.Time = outcomeOf(run.GetConclusion()), run.GetCompletedAt().Time
	}
	return s
}

func outcomeOf(word string) forge.Outcome {
	switch word {
	case "success", "neutral", "skipped":
		return forge.Success
	case "pending":
		return forge.Pending
	}
	return forge.Failure
}

const maxDescription = 140

// createStatus: GitHub accepts at most a thousand statuses per commit.
func (g *Forge) createStatus(ctx context.Context, commit string, s forge.Status) error {
	status := &gh.RepoStatus{
		State: gh.String(string(s.Outcome)), Context: &s.Context, Description: gh.String(forge.OneLine(s.Description, maxDescription)),
	}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	_, _, err := callAPI(g, "set a status", func() (*gh.RepoStatus, *gh.Response, error) {
		return g.client.Repositories.CreateStatus(ctx, g.owner, g.name, commit, status)
	})
	return err
}

package github

import (
	"context"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
)

func (g *Forge) listIssues(ctx context.Context, label string) ([]forge.HostedIssue, error) {
	found, err := listAll(g, "list issues", func(o gh.ListOptions) ([]*gh.Issue, *gh.Response, error) {
		return g.client.Issues.ListByRepo(ctx, g.owner, g.name, &gh.IssueListByRepoOptions{
			State: "all", Labels: []string{label}, Sort: "created", Direction: "desc", ListOptions: o,
		})
	})
	return list.Convert(found, parseIssue), err
}

// parseIssue returns the zero value for a pull request: GitHub lists these as issues too.
func parseIssue(i *gh.Issue) forge.HostedIssue {
	if i == nil || i.IsPullRequest() {
		return forge.HostedIssue{}
	}
	return forge.HostedIssue{
		Issue:  forge.Issue{Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody(), Open: i.GetState() == "open", URL: i.GetHTMLURL()},
		Labels: labelNames(i.Labels),
	}
}

func (g *Forge) readIssue(ctx context.Context, number int) (forge.HostedIssue, error) {
	i, _, err := callAPI(g, "read an issue", func() (*gh.Issue, *gh.Response, error) {
		return g.client.Issues.Get(ctx, g.owner, g.name, number)
	})
	return parseIssue(i), err
}

// createIssue always opens the issue: GitHub cannot create a closed one.
func (g *Forge) createIssue(ctx context.Context, i forge.HostedIssue) (forge.HostedIssue, error) {
	made, _, err := callAPI(g, "open an issue", func() (*gh.Issue, *gh.Response, error) {
		return g.client.Issues.Create(ctx, g.owner, g.name, &gh.IssueRequest{Title: &i.Issue.Title, Body: &i.Issue.Body, Labels: &i.Labels})
	})
	return parseIssue(made), err
}

func (g *Forge) updateIssue(ctx context.Context, _, to forge.HostedIssue) (forge.HostedIssue, error) {
	state := "closed"
	if to.Issue.Open {
		state = "open"
	}
	after, _, err := callAPI(g, "edit an issue", func() (*gh.Issue, *gh.Response, error) {
		return g.client.Issues.Edit(ctx, g.owner, g.name, to.Issue.Number, &gh.IssueRequest{Title: &to.Issue.Title, Body: &to.Issue.Body, State: &state})
	})
	return parseIssue(after), err
}

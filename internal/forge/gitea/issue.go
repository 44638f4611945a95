package gitea

import (
	"context"
	"slices"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
)

func (g *Forge) listIssues(ctx context.Context, label string) ([]forge.HostedIssue, error) {
	if !g.hasLabel.Load() { // without the label, Gitea would list everything
		all, err := g.repoLabels(ctx)
		if err != nil || !slices.Contains(labelNames(all), label) {
			return nil, err
		}
		g.hasLabel.Store(true)
	}
	found, err := listAll(ctx, g, "list issues", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Issue, *sdk.Response, error) {
		return c.ListRepoIssues(g.owner, g.name, sdk.ListIssueOption{
			State: sdk.StateAll, Type: sdk.IssueTypeIssue, Labels: []string{label}, ListOptions: o,
		})
	})
	return list.Convert(found, parseIssue), err
}

func parseIssue(i *sdk.Issue) forge.HostedIssue {
	if i == nil || i.PullRequest != nil {
		return forge.HostedIssue{}
	}
	return forge.HostedIssue{
		Issue:  forge.Issue{Number: int(i.Index), Title: i.Title, Body: i.Body, Open: i.State == sdk.StateOpen, URL: i.HTMLURL},
		Labels: labelNames(i.Labels),
	}
}

func (g *Forge) readIssue(ctx context.Context, number int) (forge.HostedIssue, error) {
	i, _, err := callAPI(ctx, g, "read an issue", func(c *sdk.Client) (*sdk.Issue, *sdk.Response, error) {
		return c.GetIssue(g.owner, g.name, int64(number))
	})
	return parseIssue(i), err
}

func (g *Forge) createIssue(ctx context.Context, i forge.HostedIssue) (forge.HostedIssue, error) {
	ids, err := g.labelIDs(ctx, i.Labels)
	if err != nil {
		return forge.HostedIssue{}, err
	}
	made, _, err := callAPI(ctx, g, "open an issue", func(c *sdk.Client) (*sdk.Issue, *sdk.Response, error) {
		return c.CreateIssue(g.owner, g.name, sdk.CreateIssueOption{Title: i.Issue.Title, Body: i.Issue.Body, Labels: ids, Closed: !i.Issue.Open})
	})
	return parseIssue(made), err
}

func (g *Forge) updateIssue(ctx context.Context, _, to forge.HostedIssue) (forge.HostedIssue, error) {
	state := sdk.StateClosed
	if to.Issue.Open {
		state = sdk.StateOpen
	}
	after, _, err := callAPI(ctx, g, "edit an issue", func(c *sdk.Client) (*sdk.Issue, *sdk.Response, error) {
		return c.EditIssue(g.owner, g.name, int64(to.Issue.Number), sdk.EditIssueOption{Title: to.Issue.Title, Body: &to.Issue.Body, State: &state})
	})
	return parseIssue(after), err
}

package gitlab

import (
	"context"
	"fmt"
	"net/http"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
)

const issuesPath = "issues"

func issuePath(number int) string { return fmt.Sprintf("%s/%d", issuesPath, number) }

func (g *Forge) listIssues(ctx context.Context, label string) ([]forge.HostedIssue, error) {
	found, err := listAll[item](ctx, g, "list issues", issuesPath, func(o gl.ListOptions) any {
		return &gl.ListProjectIssuesOptions{
			State: new("all"), Scope: new("all"), Labels: &gl.LabelOptions{label}, OrderBy: new("created_at"), Sort: new("desc"), ListOptions: o,
		}
	})
	return list.Convert(found, g.parseIssue), err
}

func (g *Forge) parseIssue(i item) forge.HostedIssue {
	return forge.HostedIssue{
		Issue:  forge.Issue{Number: i.IID, Title: i.Title, Body: i.Description, Open: i.State == "opened", URL: i.WebURL},
		Labels: i.Labels, Foreign: g.checkProject(i),
	}
}

func (g *Forge) readIssue(ctx context.Context, number int) (forge.HostedIssue, error) {
	i, _, err := callAPI[item](ctx, g, "read an issue", http.MethodGet, issuePath(number), nil)
	return g.parseIssue(i), err
}

// createIssue always opens the issue: GitLab cannot create a closed one.
func (g *Forge) createIssue(ctx context.Context, i forge.HostedIssue) (forge.HostedIssue, error) {
	made, _, err := callAPI[item](ctx, g, "open an issue", http.MethodPost, issuesPath, &gl.CreateIssueOptions{
		Title: &i.Issue.Title, Description: &i.Issue.Body, Labels: labelOptions(i.Labels),
	})
	return g.parseIssue(made), err
}

func (g *Forge) updateIssue(ctx context.Context, before, to forge.HostedIssue) (forge.HostedIssue, error) {
	o := &gl.UpdateIssueOptions{Title: &to.Issue.Title, Description: &to.Issue.Body}
	switch {
	case to.Issue.Open && !before.Issue.Open:
		o.StateEvent = new("reopen")
	case !to.Issue.Open && before.Issue.Open:
		o.StateEvent = new("close")
	}
	after, _, err := callAPI[item](ctx, g, "edit an issue", http.MethodPut, issuePath(to.Issue.Number), o)
	return g.parseIssue(after), err
}

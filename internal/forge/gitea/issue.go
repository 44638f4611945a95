package gitea

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// issueLabel is what our issues are found by; search would find them late.
const issueLabel = "fairlead"

// Issues returns our issues with a mark, open or closed, newest first.
func (g *Forge) Issues(ctx context.Context, mark string) ([]forge.Issue, error) {
	there, err := g.labelIsThere(ctx)
	if err != nil || !there { // without the label Gitea would list everything
		return nil, err
	}
	found, err := listAll(ctx, g, "list issues", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Issue, *sdk.Response, error) {
		return c.ListRepoIssues(g.owner, g.name, sdk.ListIssueOption{
			State: sdk.StateAll, Type: sdk.IssueTypeIssue, Labels: []string{issueLabel}, ListOptions: o,
		})
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Issue
	for _, i := range found {
		if issue, ok := readIssue(i); ok && issue.Mark == mark {
			all = append(all, issue)
		}
	}
	slices.SortFunc(all, func(a, b forge.Issue) int { return cmp.Compare(b.Number, a.Number) })
	return slices.CompactFunc(all, func(a, b forge.Issue) bool { return a.Number == b.Number }), nil
}

// labelIsThere reports whether there is the label of our issues. Once it is, that
// is not asked again.
func (g *Forge) labelIsThere(ctx context.Context) (bool, error) {
	g.mu.Lock()
	there := g.labelled
	g.mu.Unlock()
	if there {
		return true, nil
	}
	all, err := g.repoLabels(ctx)
	if err != nil || !hasLabel(all, issueLabel) {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.labelled = true
	return true, nil
}

// readIssue understands an issue; it is none of ours if it has no mark, or is a
// pull request.
func readIssue(i *sdk.Issue) (forge.Issue, bool) {
	d, ok := forge.ParseDocument(i.Body)
	if !ok || i.PullRequest != nil || i.Index == 0 {
		return forge.Issue{}, false
	}
	return forge.Issue{Number: int(i.Index), Mark: d.Mark, Title: i.Title, Body: d.Text, Open: i.State == sdk.StateOpen, URL: i.HTMLURL}, true
}

// PutIssue opens an issue (number 0; if there is an open one with that mark, it
// returns that), or updates one.
func (g *Forge) PutIssue(ctx context.Context, i forge.Issue) (forge.Issue, error) {
	if i.Number != 0 {
		return g.editIssue(ctx, i)
	}
	existing, err := g.Issues(ctx, i.Mark)
	if err != nil {
		return i, err
	}
	if len(existing) > 0 && existing[0].Open {
		return existing[0], nil
	}
	return g.openIssue(ctx, i)
}

func (g *Forge) openIssue(ctx context.Context, i forge.Issue) (forge.Issue, error) {
	body, err := forge.Document{Text: i.Body, Mark: i.Mark}.Format()
	if err != nil {
		return i, err
	}
	g.mu.Lock()
	err = g.unlabelled
	g.mu.Unlock()
	if err != nil {
		return i, err
	}
	ids, err := g.labelIDs(ctx, []string{issueLabel})
	if err != nil {
		return i, err
	}
	made, _, err := callAPI(ctx, g, "open an issue", func(c *sdk.Client) (*sdk.Issue, *sdk.Response, error) {
		return c.CreateIssue(g.owner, g.name, sdk.CreateIssueOption{
			Title: forge.FitTitle(i.Title), Body: body, Labels: ids, Closed: !i.Open,
		})
	})
	if err != nil {
		return i, err
	}
	if !hasLabel(made.Labels, issueLabel) {
		return i, g.cannotLabel(made.Index)
	}
	opened, _ := readIssue(made)
	return opened, nil
}

// cannotLabel notes that Gitea dropped the label, as it does when the token's user
// may not write: we would not find the issue again, and open another one each time.
func (g *Forge) cannotLabel(number int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unlabelled = &forge.Refusal{
		Operation: "open an issue of " + g.fullName(),
		Reason:    fmt.Sprintf("Gitea took issue %d without its label %q", number, issueLabel),
		Advice:    "let the token's user write to the repository and its issues, then start again",
	}
	return g.unlabelled
}

func (g *Forge) editIssue(ctx context.Context, i forge.Issue) (forge.Issue, error) {
	now, _, err := callAPI(ctx, g, "read an issue", func(c *sdk.Client) (*sdk.Issue, *sdk.Response, error) {
		return c.GetIssue(g.owner, g.name, int64(i.Number))
	})
	if err != nil {
		return i, err
	}
	before, ok := readIssue(now)
	if !ok {
		return i, fmt.Errorf("issue %d is not one of Fairlead's: %w", i.Number, forge.ErrNotFound)
	}
	i.Title, i.URL = forge.FitTitle(i.Title), before.URL
	body, err := forge.Document{Text: i.Body, Mark: i.Mark}.Format()
	if err != nil || before == i {
		return i, err
	}
	state := sdk.StateClosed
	if i.Open {
		state = sdk.StateOpen
	}
	after, _, err := retryCall(ctx, g, "edit an issue", func(c *sdk.Client) (*sdk.Issue, *sdk.Response, error) {
		return c.EditIssue(g.owner, g.name, int64(i.Number), sdk.EditIssueOption{Title: i.Title, Body: &body, State: &state})
	})
	if err != nil {
		return i, err
	}
	i, _ = readIssue(after)
	return i, nil
}

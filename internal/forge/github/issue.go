package github

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// issueLabel is what our issues are found by; search would find them late.
const issueLabel = "fairlead"

// Issues returns our issues with a mark, open or closed, newest first.
func (g *Forge) Issues(ctx context.Context, mark string) ([]forge.Issue, error) {
	found, err := listAll(g, "list issues", func(o gh.ListOptions) ([]*gh.Issue, *gh.Response, error) {
		return g.client.Issues.ListByRepo(ctx, g.owner, g.name, &gh.IssueListByRepoOptions{
			State: "all", Labels: []string{issueLabel}, Sort: "created", Direction: "desc", ListOptions: o,
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

// readIssue understands an issue; it is none of ours if it has no mark, or is a
// pull request, which GitHub lists as issues too.
func readIssue(i *gh.Issue) (forge.Issue, bool) {
	d, ok := forge.ParseDocument(i.GetBody())
	if !ok || i.IsPullRequest() || i.GetNumber() == 0 {
		return forge.Issue{}, false
	}
	return forge.Issue{
		Number: i.GetNumber(), Mark: d.Mark, Title: i.GetTitle(), Body: d.Text, Open: i.GetState() == "open", URL: i.GetHTMLURL(),
	}, true
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
	opened, err := g.openIssue(ctx, i)
	if err != nil || i.Open {
		return opened, err
	}
	i.Number = opened.Number
	return g.editIssue(ctx, i)
}

func (g *Forge) openIssue(ctx context.Context, i forge.Issue) (forge.Issue, error) {
	body, err := forge.Document{Text: i.Body, Mark: i.Mark}.Format()
	if err != nil {
		return i, err
	}
	g.mu.Lock()
	err = g.unlabeled
	g.mu.Unlock()
	if err != nil {
		return i, err
	}
	made, _, err := callAPI(g, "open an issue", func() (*gh.Issue, *gh.Response, error) {
		return g.client.Issues.Create(ctx, g.owner, g.name, &gh.IssueRequest{
			Title: gh.String(forge.FitTitle(i.Title)), Body: &body, Labels: &[]string{issueLabel},
		})
	})
	if err != nil {
		return i, err
	}
	if !slices.ContainsFunc(made.Labels, func(l *gh.Label) bool { return l.GetName() == issueLabel }) {
		return i, g.cannotLabel(made.GetNumber())
	}
	opened, _ := readIssue(made)
	return opened, nil
}

// cannotLabel notes that GitHub dropped the label, as it does when the token may not
// set any: we would not find the issue again, and open another one each time.
func (g *Forge) cannotLabel(number int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unlabeled = &forge.Refusal{
		Operation: "open an issue of " + g.fullName(),
		Reason:    fmt.Sprintf("GitHub took issue %d without its label %q", number, issueLabel),
		Advice:    "let the token write issues and labels (fine-grained: Issues read and write; classic: repo), then start again",
	}
	return g.unlabeled
}

func (g *Forge) editIssue(ctx context.Context, i forge.Issue) (forge.Issue, error) {
	now, _, err := callAPI(g, "read an issue", func() (*gh.Issue, *gh.Response, error) {
		return g.client.Issues.Get(ctx, g.owner, g.name, i.Number)
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
	state := "closed"
	if i.Open {
		state = "open"
	}
	after, _, err := callAPI(g, "edit an issue", func() (*gh.Issue, *gh.Response, error) {
		return g.client.Issues.Edit(ctx, g.owner, g.name, i.Number, &gh.IssueRequest{Title: &i.Title, Body: &body, State: &state})
	})
	if err != nil {
		return i, err
	}
	i, _ = readIssue(after)
	return i, nil
}

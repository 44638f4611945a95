package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// issueLabel is what our issues are found by; search would find them late.
const issueLabel = "fairlead"

const issuesPath = "issues"

// Issues returns our issues with a mark, open or closed, newest first.
func (g *Forge) Issues(ctx context.Context, mark string) ([]forge.Issue, error) {
	found, err := listAll[item](ctx, g, "list issues", issuesPath, func(o gl.ListOptions) any {
		return &gl.ListProjectIssuesOptions{
			State: new("all"), Scope: new("all"), Labels: &gl.LabelOptions{issueLabel}, OrderBy: new("created_at"), Sort: new("desc"), ListOptions: o,
		}
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Issue
	for _, i := range found {
		issue, ok := readIssue(i)
		if !ok || issue.Mark != mark {
			continue
		}
		if err := g.checkProject(i); err != nil {
			return nil, err
		}
		all = append(all, issue)
	}
	slices.SortFunc(all, func(a, b forge.Issue) int { return cmp.Compare(b.Number, a.Number) })
	return slices.CompactFunc(all, func(a, b forge.Issue) bool { return a.Number == b.Number }), nil
}

// readIssue understands an issue; it is none of ours if it has no mark.
func readIssue(i item) (forge.Issue, bool) {
	d, ok := readBody(i.Description)
	if !ok || i.IID == 0 {
		return forge.Issue{}, false
	}
	return forge.Issue{Number: i.IID, Mark: d.Mark, Title: i.Title, Body: d.Text, Open: i.State == "opened", URL: i.WebURL}, true
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
	body, err := writeBody(forge.Document{Text: i.Body, Mark: i.Mark})
	if err != nil {
		return i, err
	}
	g.mu.Lock()
	err = g.unlabeled
	g.mu.Unlock()
	if err != nil {
		return i, err
	}
	made, _, err := callAPI[item](ctx, g, "open an issue", http.MethodPost, issuesPath, &gl.CreateIssueOptions{
		Title: new(forge.FitTitle(i.Title)), Description: &body, Labels: &gl.LabelOptions{issueLabel},
	})
	if err != nil {
		return i, err
	}
	if !slices.Contains(made.Labels, issueLabel) {
		return i, g.cannotLabel(made.IID)
	}
	opened, _ := readIssue(made)
	return opened, g.checkProject(made)
}

// cannotLabel notes that GitLab dropped the label, as it does for somebody who may not
// set any: we would not find the issue again, and open another one each time.
func (g *Forge) cannotLabel(number int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unlabeled = &forge.Refusal{
		Operation: "open an issue of " + g.project,
		Reason:    fmt.Sprintf("GitLab took issue %d without its label %q", number, issueLabel),
		Advice:    "give the token, or the user that it is of, at least the role Reporter in the project, then start again",
	}
	return g.unlabeled
}

func (g *Forge) editIssue(ctx context.Context, i forge.Issue) (forge.Issue, error) {
	at := fmt.Sprintf("%s/%d", issuesPath, i.Number)
	now, _, err := callAPI[item](ctx, g, "read an issue", http.MethodGet, at, nil)
	if err != nil {
		return i, err
	}
	before, ok := readIssue(now)
	if !ok {
		return i, fmt.Errorf("issue %d is not one of Fairlead's: %w", i.Number, forge.ErrNotFound)
	}
	if err := g.checkProject(now); err != nil {
		return i, err
	}
	i.Title, i.URL = forge.FitTitle(i.Title), before.URL
	body, err := writeBody(forge.Document{Text: i.Body, Mark: i.Mark})
	if err != nil || before == i {
		return i, err
	}
	to := gl.UpdateIssueOptions{Title: &i.Title, Description: &body}
	if i.Open != before.Open {
		to.StateEvent = new(stateEvent(i.Open))
	}
	after, _, err := callAPI[item](ctx, g, "edit an issue", http.MethodPut, at, &to)
	if err != nil {
		return i, err
	}
	i, _ = readIssue(after)
	return i, nil
}

func stateEvent(open bool) string {
	if open {
		return "reopen"
	}
	return "close"
}

package forge

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// HostedComment is a comment on a pull request.
type HostedComment struct {
	ID   int64
	Text string
	Own  bool
}

// HostedIssue is any issue of the forge. Its body is formatted as a [Document].
type HostedIssue struct {
	Issue   Issue // Number is 0 for an invalid answer
	Labels  []string
	Foreign error // why it is not in this repository
}

// issueLabel finds our issues; the forges' search lags behind.
const issueLabel = "fairlead"

// User returns the name or id of the token's user. It asks the forge once.
func (h *Hosted[P]) User(ctx context.Context) (string, error) {
	h.mu.Lock()
	known := h.user
	h.mu.Unlock()
	if known != "" {
		return known, nil
	}
	user, err := h.calls.ReadUser(ctx)
	if err == nil && user == "" {
		err = &problem.Refusal{
			Operation: "read the token's user", Reason: h.client.Forge + " did not say",
			Advice: "see whether the address is that of " + h.client.Forge + "'s API",
		}
	}
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.user = user
	return user, nil
}

// PutComment sets the text of our one comment with this mark. The author must be the token's user:
// anyone can write a mark.
func (h *Hosted[P]) PutComment(ctx context.Context, number int, mark, body string) error {
	text, err := FormatComment(mark, h.dialect.Escape(body), h.dialect.MaxComment)
	if err != nil {
		return err
	}
	user, err := h.User(ctx)
	if err != nil {
		return err
	}
	all, err := h.calls.ListComments(ctx, number, user)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c HostedComment) bool { return c.Own && IsComment(c.Text, mark) })
	switch {
	case i < 0:
		return h.calls.CreateComment(ctx, number, text)
	case !SameComment(all[i].Text, text):
		return h.calls.UpdateComment(ctx, number, all[i].ID, text)
	}
	return nil
}

// Issues returns our open and closed issues with a mark, newest first.
func (h *Hosted[P]) Issues(ctx context.Context, mark string) ([]Issue, error) {
	found, err := h.calls.ListIssues(ctx, issueLabel)
	if err != nil {
		return nil, err
	}
	var all []Issue
	for _, i := range found {
		issue, ok := h.parseIssue(i)
		if !ok || issue.Mark != mark {
			continue
		}
		if i.Foreign != nil {
			return nil, i.Foreign
		}
		all = append(all, issue)
	}
	return sortNewest(all, func(i Issue) int { return i.Number }), nil
}

func (h *Hosted[P]) parseIssue(i HostedIssue) (Issue, bool) {
	issue := i.Issue
	d, ok := h.parseDocument(issue.Body)
	issue.Mark, issue.Body = d.Mark, d.Text
	return issue, ok && issue.Number != 0
}

func (h *Hosted[P]) formatIssue(i Issue) (HostedIssue, error) {
	body, err := h.formatDocument(Document{Text: i.Body, Mark: i.Mark})
	i.Title, i.Body = FitTitle(i.Title), body
	return HostedIssue{Issue: i, Labels: []string{issueLabel}}, err
}

// PutIssue updates an issue or, for number 0, opens one unless one with that mark is open.
func (h *Hosted[P]) PutIssue(ctx context.Context, i Issue) (Issue, error) {
	if i.Number != 0 {
		return h.editIssue(ctx, i)
	}
	existing, err := h.Issues(ctx, i.Mark)
	if err != nil {
		return i, err
	}
	if len(existing) > 0 && existing[0].Open {
		return existing[0], nil
	}
	opened, err := h.openIssue(ctx, i)
	if err != nil || opened.Open == i.Open {
		return opened, err
	}
	i.Number = opened.Number
	return h.editIssue(ctx, i)
}

func (h *Hosted[P]) openIssue(ctx context.Context, i Issue) (Issue, error) {
	wanted, err := h.formatIssue(i)
	if err != nil {
		return i, err
	}
	h.mu.Lock()
	err = h.unlabeled
	h.mu.Unlock()
	if err != nil {
		return i, err
	}
	made, err := h.calls.CreateIssue(ctx, wanted)
	if err != nil {
		return i, err
	}
	if !slices.Contains(made.Labels, issueLabel) {
		// The forge drops the label if the token may not set it. We would not find the issue and
		// open another one each time.
		h.mu.Lock()
		defer h.mu.Unlock()
		h.unlabeled = &problem.Refusal{
			Operation: "open an issue of " + h.client.Repo,
			Reason:    fmt.Sprintf("%s took issue %d without its label %q", h.client.Forge, made.Issue.Number, issueLabel),
			Advice:    h.dialect.LabelAdvice,
		}
		return i, h.unlabeled
	}
	opened, _ := h.parseIssue(made)
	return opened, made.Foreign
}

func (h *Hosted[P]) editIssue(ctx context.Context, i Issue) (Issue, error) {
	before, err := h.calls.ReadIssue(ctx, i.Number)
	if err != nil {
		return i, err
	}
	old, ok := h.parseIssue(before)
	if !ok {
		return i, fmt.Errorf("issue %d is not one of Fairlead's: %w", i.Number, ErrNotFound)
	}
	if before.Foreign != nil {
		return i, before.Foreign
	}
	wanted, err := h.formatIssue(i)
	i.Title, i.URL = wanted.Issue.Title, old.URL
	if err != nil || old == i {
		return i, err
	}
	after, err := retryUpdate(ctx, func() (HostedIssue, error) { return h.calls.UpdateIssue(ctx, before, wanted) })
	if err != nil {
		return i, err
	}
	i, _ = h.parseIssue(after)
	return i, nil
}

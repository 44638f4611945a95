package github

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Changes returns the open pull requests for a branch, newest first, without our
// own. A mark in one of a fork does not make it ours.
func (g *Forge) Changes(ctx context.Context, base string) ([]forge.Change, error) {
	found, err := listAll(g, "list open pull requests", func(o gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		return g.client.PullRequests.List(ctx, g.owner, g.name, &gh.PullRequestListOptions{
			State: "open", Base: base, Sort: "created", Direction: "desc", ListOptions: o,
		})
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Change
	for _, p := range found {
		if p.GetNumber() == 0 || p.GetState() != "open" || base != "" && p.GetBase().GetRef() != base || p.GetHead().GetSHA() == "" {
			continue
		}
		if now := p.GetBase().GetRepo().GetFullName(); !strings.EqualFold(now, g.fullName()) {
			return nil, g.renamedError(now)
		}
		if _, _, err := g.readPull(p); errors.Is(err, forge.ErrNotFound) {
			all = append(all, readChange(p))
		}
	}
	slices.SortFunc(all, func(a, b forge.Change) int { return cmp.Compare(b.Number, a.Number) })
	// One is on two pages if another was opened in between.
	return slices.CompactFunc(all, func(a, b forge.Change) bool { return a.Number == b.Number }), nil
}

// readChange understands a pull request. What has no repository any more was a fork.
func readChange(p *gh.PullRequest) forge.Change {
	head, base := p.GetHead(), p.GetBase()
	return forge.Change{
		Number: p.GetNumber(), Head: head.GetRef(), Commit: head.GetSHA(), Base: base.GetRef(), Title: p.GetTitle(), URL: p.GetHTMLURL(),
		Fork: !strings.EqualFold(head.GetRepo().GetFullName(), base.GetRepo().GetFullName()),
	}
}

// PutComment sets the text of our one comment with this mark. The mark is not enough: its
// author has to be the user of the token, as every user can write a mark.
func (g *Forge) PutComment(ctx context.Context, number int, mark, body string) error {
	text, err := forge.FormatComment(mark, body, forge.MaxComment)
	if err != nil {
		return err
	}
	login, err := g.tokenLogin(ctx)
	if err != nil {
		return err
	}
	all, err := listAll(g, "list comments", func(o gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		return g.client.Issues.ListComments(ctx, g.owner, g.name, number, &gh.IssueListCommentsOptions{ListOptions: o})
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c *gh.IssueComment) bool { return isBy(c.GetUser(), login) && forge.IsComment(c.GetBody(), mark) })
	switch {
	case i < 0:
		_, _, err = callAPI(g, "comment", func() (*gh.IssueComment, *gh.Response, error) {
			return g.client.Issues.CreateComment(ctx, g.owner, g.name, number, &gh.IssueComment{Body: &text})
		})
	case !forge.SameComment(all[i].GetBody(), text):
		_, _, err = callAPI(g, "edit a comment", func() (*gh.IssueComment, *gh.Response, error) {
			return g.client.Issues.EditComment(ctx, g.owner, g.name, all[i].GetID(), &gh.IssueComment{Body: &text})
		})
	}
	return err
}

// isBy reports whether a user is who a token is of. GraphQL may name an App without
// its [bot]; no person's name has brackets.
func isBy(user *gh.User, login string) bool {
	name := user.GetLogin()
	if user.GetType() == "Bot" {
		name, login = strings.TrimSuffix(name, "[bot]"), strings.TrimSuffix(login, "[bot]")
	}
	return strings.EqualFold(name, login)
}

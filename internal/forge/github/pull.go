package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
)

func (g *Forge) listPulls(ctx context.Context, op string, f forge.PullFilter) ([]*gh.PullRequest, error) {
	options := gh.PullRequestListOptions{State: "all", Base: f.Base, Sort: "created", Direction: "desc"}
	if f.Open {
		options.State = "open"
	}
	if f.Head != "" {
		options.Head = g.owner + ":" + f.Head // without the owner, GitHub ignores the branch
	}
	if f.Newest {
		options.State, options.PerPage = "closed", pageSize
		page, _, err := callAPI(g, op, func() ([]*gh.PullRequest, *gh.Response, error) {
			return g.client.PullRequests.List(ctx, g.owner, g.name, &options)
		})
		return page, err
	}
	return listAll(g, op, func(o gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		options.ListOptions = o
		return g.client.PullRequests.List(ctx, g.owner, g.name, &options)
	})
}

// parsePull treats a branch whose repository was deleted as a fork's.
func (g *Forge) parsePull(p *gh.PullRequest) pull {
	if p == nil {
		return pull{}
	}
	head, base := p.GetHead(), p.GetBase()
	of := base.GetRepo().GetFullName()
	parsed := pull{
		Pull: forge.Pull{
			Proposal: forge.Proposal{Head: head.GetRef(), Base: base.GetRef(), Title: p.GetTitle(), Body: p.GetBody(), Labels: labelNames(p.Labels)},
			Number:   p.GetNumber(), State: forge.Open, Commit: head.GetSHA(), URL: p.GetHTMLURL(),
		},
		Fork: !strings.EqualFold(head.GetRepo().GetFullName(), of), AutoMerge: p.AutoMerge != nil, Native: p,
	}
	if !strings.EqualFold(of, g.api.Repo) {
		parsed.Foreign = forge.RenamedError("repository", g.api.Repo, of)
	}
	switch {
	case p.MergedAt != nil:
		parsed.Pull.State, parsed.Pull.By, parsed.Ended = forge.Merged, p.GetMergedBy().GetLogin(), p.GetMergedAt().Time
	case p.GetState() == "closed":
		parsed.Pull.State, parsed.Ended = forge.Closed, p.GetClosedAt().Time
	}
	return parsed
}

func labelNames(labels []*gh.Label) []string { return list.Convert(labels, (*gh.Label).GetName) }

func (g *Forge) readPull(ctx context.Context, number int) (*gh.PullRequest, error) {
	p, _, err := callAPI(g, "read a pull request", func() (*gh.PullRequest, *gh.Response, error) {
		return g.client.PullRequests.Get(ctx, g.owner, g.name, number)
	})
	return p, err
}

func (g *Forge) createPull(ctx context.Context, o forge.Proposal) (*gh.PullRequest, error) {
	p, _, err := callAPI(g, "open a pull request", func() (*gh.PullRequest, *gh.Response, error) {
		return g.client.PullRequests.Create(ctx, g.owner, g.name, &gh.NewPullRequest{Title: &o.Title, Head: &o.Head, Base: &o.Base, Body: &o.Body})
	})
	if err == nil {
		err = g.setLabels(ctx, p, o.Labels, nil)
	}
	return p, err
}

func (g *Forge) updatePull(ctx context.Context, op string, p *gh.PullRequest, c forge.PullChange) (*gh.PullRequest, error) {
	err := g.setLabels(ctx, p, c.AddLabels, c.RemoveLabels)
	to := &gh.PullRequest{Title: c.Title, Body: c.Body}
	if c.Close {
		to.State = gh.String("closed")
	}
	if err != nil || c.Title == nil && c.Body == nil && !c.Close {
		return p, err
	}
	after, _, err := callAPI(g, op, func() (*gh.PullRequest, *gh.Response, error) {
		return g.client.PullRequests.Edit(ctx, g.owner, g.name, p.GetNumber(), to)
	})
	return after, err
}

func (g *Forge) setLabels(ctx context.Context, p *gh.PullRequest, add, remove []string) error {
	if len(add) > 0 {
		now, err := g.addLabels(ctx, p.GetNumber(), add)
		if err != nil {
			return err
		}
		p.Labels = now
	}
	for _, name := range remove {
		_, _, err := callAPI(g, "remove a label", func() (any, *gh.Response, error) {
			answer, err := g.client.Issues.RemoveLabelForIssue(ctx, g.owner, g.name, p.GetNumber(), url.PathEscape(name))
			return nil, answer, err
		})
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
		p.Labels = slices.DeleteFunc(p.Labels, func(l *gh.Label) bool { return strings.EqualFold(l.GetName(), name) })
	}
	return nil
}

// addLabels returns all labels. go-github sends them in a form that GitHub no longer documents.
func (g *Forge) addLabels(ctx context.Context, number int, names []string) ([]*gh.Label, error) {
	body := struct {
		Labels []string `json:"labels"`
	}{names}
	req, err := g.client.NewRequest(http.MethodPost, fmt.Sprintf("repos/%s/issues/%d/labels", g.api.Repo, number), body)
	if err != nil {
		return nil, err
	}
	all, _, err := callAPI(g, "label", func() ([]*gh.Label, *gh.Response, error) {
		var all []*gh.Label
		answer, err := g.client.Do(ctx, req, &all)
		return all, answer, err
	})
	return all, err
}

func (g *Forge) listComments(ctx context.Context, number int, login string) ([]forge.HostedComment, error) {
	found, err := listAll(g, "list comments", func(o gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		return g.client.Issues.ListComments(ctx, g.owner, g.name, number, &gh.IssueListCommentsOptions{ListOptions: o})
	})
	return list.Convert(found, func(c *gh.IssueComment) forge.HostedComment {
		return forge.HostedComment{ID: c.GetID(), Text: c.GetBody(), Own: isBy(c.GetUser(), login)}
	}), err
}

// isBy ignores an App's [bot], which GraphQL may omit; no person's login has brackets.
func isBy(user *gh.User, login string) bool {
	name := user.GetLogin()
	if user.GetType() == "Bot" {
		name, login = strings.TrimSuffix(name, "[bot]"), strings.TrimSuffix(login, "[bot]")
	}
	return strings.EqualFold(name, login)
}

func (g *Forge) createComment(ctx context.Context, number int, text string) error {
	_, _, err := callAPI(g, "comment", func() (*gh.IssueComment, *gh.Response, error) {
		return g.client.Issues.CreateComment(ctx, g.owner, g.name, number, &gh.IssueComment{Body: &text})
	})
	return err
}

func (g *Forge) updateComment(ctx context.Context, _ int, id int64, text string) error {
	_, _, err := callAPI(g, "edit a comment", func() (*gh.IssueComment, *gh.Response, error) {
		return g.client.Issues.EditComment(ctx, g.owner, g.name, id, &gh.IssueComment{Body: &text})
	})
	return err
}

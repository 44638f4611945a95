package gitea

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

type pull = forge.HostedPull[*sdk.PullRequest]

// Pulls reads open pull requests separately: in lists, a reopened one has the commit at which it
// was closed.
func (g *Forge) Pulls(ctx context.Context, head, base string) ([]forge.Pull, error) {
	all, err := g.Hosted.Pulls(ctx, head, base)
	for i := range all {
		if all[i].State != forge.Open {
			continue
		}
		_, all[i], _, err = g.FindPull(ctx, all[i].Number)
		if err != nil {
			return nil, err
		}
	}
	return all, err
}

// listPulls cannot filter by head; the SDK cannot filter by base.
func (g *Forge) listPulls(ctx context.Context, op string, f forge.PullFilter) ([]*sdk.PullRequest, error) {
	read := func(o sdk.ListOptions) ([]*sdk.PullRequest, *sdk.Response, error) {
		at := g.repoURL("pulls")
		query := url.Values{"state": {string(sdk.StateAll)}, "page": {strconv.Itoa(o.Page)}, "limit": {strconv.Itoa(o.PageSize)}}
		if f.Open {
			query.Set("state", string(sdk.StateOpen))
		}
		if f.Newest {
			query.Set("state", string(sdk.StateClosed))
			query.Set("sort", "recentupdate")
		}
		if f.Base != "" {
			query.Set("base_branch", f.Base)
		}
		at.RawQuery = query.Encode()
		var page []*sdk.PullRequest
		answer, err := g.sendRequest(ctx, http.MethodGet, at, nil, &page)
		return page, answer, err
	}
	if f.Newest {
		page, _, err := callAPI(ctx, g, op, func(*sdk.Client) ([]*sdk.PullRequest, *sdk.Response, error) {
			return read(sdk.ListOptions{Page: 1, PageSize: pageSize})
		})
		return page, err
	}
	return listAll(ctx, g, op, func(_ *sdk.Client, o sdk.ListOptions) ([]*sdk.PullRequest, *sdk.Response, error) { return read(o) })
}

// parsePull treats a pull request without a branch as one from a fork: anyone with read access can
// push one (AGit).
func (g *Forge) parsePull(p *sdk.PullRequest) pull {
	if p == nil || p.Head == nil || p.Base == nil || p.Base.Repository == nil {
		return pull{}
	}
	parsed := pull{
		Pull: forge.Pull{
			// Ref changes when the branch is removed.
			Proposal: forge.Proposal{Head: p.Head.Name, Base: p.Base.Name, Title: p.Title, Body: p.Body, Labels: labelNames(p.Labels)},
			Number:   int(p.Index), State: forge.Open, Commit: p.Head.Sha, URL: p.HTMLURL,
		},
		Fork: p.Head.RepoID != p.Base.RepoID || strings.HasPrefix(p.Head.Ref, "refs/pull/"), Native: p,
	}
	if now := p.Base.Repository.FullName; !strings.EqualFold(now, g.api.Repo) {
		parsed.Foreign = forge.RenamedError("repository", g.api.Repo, now)
	}
	switch {
	case p.HasMerged:
		parsed.Pull.State = forge.Merged
		if p.MergedBy != nil {
			parsed.Pull.By = cmp.Or(p.MergedBy.FullName, p.MergedBy.UserName)
		}
		if p.Merged != nil {
			parsed.Ended = *p.Merged
		}
	case p.State == sdk.StateClosed:
		parsed.Pull.State = forge.Closed
		if p.Closed != nil {
			parsed.Ended = *p.Closed
		}
	}
	return parsed
}

func (g *Forge) readPull(ctx context.Context, number int) (*sdk.PullRequest, error) {
	p, _, err := callAPI(ctx, g, "read a pull request", func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.GetPullRequest(g.owner, g.name, int64(number))
	})
	return p, err
}

func (g *Forge) createPull(ctx context.Context, o forge.Proposal) (*sdk.PullRequest, error) {
	labels, err := g.labelIDs(ctx, o.Labels)
	if err != nil {
		return nil, err
	}
	p, answer, err := callAPI(ctx, g, "open a pull request", func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.CreatePullRequest(g.owner, g.name, sdk.CreatePullRequestOption{Title: o.Title, Head: o.Head, Base: o.Base, Body: o.Body, Labels: labels})
	})
	var r *problem.Refusal
	if answer != nil && errors.As(err, &r) {
		switch answer.StatusCode {
		case http.StatusConflict:
			r.Kind = forge.ErrExists
		case http.StatusInternalServerError:
			r.Kind = forge.ErrChanged
		}
	}
	return p, err
}

func (g *Forge) updatePull(ctx context.Context, op string, p *sdk.PullRequest, c forge.PullChange) (*sdk.PullRequest, error) {
	if err := g.setLabels(ctx, p, c.AddLabels, c.RemoveLabels); err != nil {
		return nil, err
	}
	to := sdk.EditPullRequestOption{Body: c.Body}
	if c.Title != nil {
		to.Title = *c.Title
	}
	if c.Close {
		to.State = new(sdk.StateClosed)
	}
	if c.Title == nil && c.Body == nil && !c.Close {
		return p, nil
	}
	after, _, err := callAPI(ctx, g, op, func(api *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return api.EditPullRequest(g.owner, g.name, p.Index, to)
	})
	return after, err
}

package gitea

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Changes returns the open pull requests for a branch, newest first, without our
// own. A mark in one of a fork does not make it ours.
func (g *Forge) Changes(ctx context.Context, base string) ([]forge.Change, error) {
	found, err := listAll(ctx, g, "list open pull requests", func(_ *sdk.Client, o sdk.ListOptions) ([]*sdk.PullRequest, *sdk.Response, error) {
		return g.listPage(ctx, base, sdk.StateOpen, o)
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Change
	for _, p := range found {
		if p.Index == 0 || p.State != sdk.StateOpen || p.Head == nil || p.Head.Sha == "" || p.Base == nil || base != "" && p.Base.Name != base || p.Base.Repository == nil {
			continue
		}
		if now := p.Base.Repository.FullName; !strings.EqualFold(now, g.fullName()) {
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

// readChange understands a pull request. One without a branch is as from a fork:
// who may only read the repository can push one (AGit).
func readChange(p *sdk.PullRequest) forge.Change {
	return forge.Change{
		Number: int(p.Index), Head: p.Head.Name, Commit: p.Head.Sha, Base: p.Base.Name, Title: p.Title, URL: p.HTMLURL,
		Fork: p.Head.RepoID != p.Base.RepoID || strings.HasPrefix(p.Head.Ref, "refs/pull/"),
	}
}

// PutComment sets the text of our one comment with this mark. The mark is not enough: its
// author has to be the user of the token, as every user can write a mark.
func (g *Forge) PutComment(ctx context.Context, number int, mark, body string) error {
	text, err := forge.FormatComment(mark, body, forge.MaxComment)
	if err != nil {
		return err
	}
	self, err := g.tokenUser(ctx)
	if err != nil {
		return err
	}
	all, err := listAll(ctx, g, "list comments", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Comment, *sdk.Response, error) {
		return c.ListIssueComments(g.owner, g.name, int64(number), sdk.ListIssueCommentOptions{ListOptions: o})
	})
	if err != nil {
		return g.explainMissing(ctx, number, err)
	}
	i := slices.IndexFunc(all, func(c *sdk.Comment) bool {
		return c.Poster != nil && c.Poster.ID == self && forge.IsComment(c.Body, mark)
	})
	switch {
	case i < 0:
		_, _, err = callAPI(ctx, g, "comment", func(c *sdk.Client) (*sdk.Comment, *sdk.Response, error) {
			return c.CreateIssueComment(g.owner, g.name, int64(number), sdk.CreateIssueCommentOption{Body: text})
		})
	case !forge.SameComment(all[i].Body, text):
		_, _, err = callAPI(ctx, g, "edit a comment", func(c *sdk.Client) (*sdk.Comment, *sdk.Response, error) {
			return c.EditIssueComment(g.owner, g.name, all[i].ID, sdk.EditIssueCommentOption{Body: text})
		})
	}
	return err
}

// explainMissing returns the error that there is no such pull request if that is why something
// failed: Gitea says of its comments that something went wrong inside.
func (g *Forge) explainMissing(ctx context.Context, number int, failed error) error {
	_, _, err := callAPI(ctx, g, "read a pull request", func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.GetPullRequest(g.owner, g.name, int64(number))
	})
	if errors.Is(err, forge.ErrNotFound) {
		return err
	}
	return failed
}

// tokenUser returns who the token is of, which is asked once. The token needs the scope
// read:user for that.
func (g *Forge) tokenUser(ctx context.Context) (int64, error) {
	g.mu.Lock()
	known := g.user
	g.mu.Unlock()
	if known != 0 {
		return known, nil
	}
	const op = "read the token's user"
	found, _, err := callAPI(ctx, g, op, func(c *sdk.Client) (*sdk.User, *sdk.Response, error) { return c.GetMyUserInfo() })
	if err != nil {
		return 0, err
	}
	if found.ID == 0 {
		return 0, &forge.Refusal{Operation: op, Reason: "the server did not say", Advice: "see whether the address is that of Gitea"}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.user = found.ID
	return g.user, nil
}

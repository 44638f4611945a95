package gitea

import (
	"context"
	"errors"
	"strconv"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// listComments checks after an error whether the pull request exists, because Gitea then answers
// with an internal error.
func (g *Forge) listComments(ctx context.Context, number int, user string) ([]forge.HostedComment, error) {
	found, err := listAll(ctx, g, "list comments", func(c *sdk.Client, o sdk.ListOptions) ([]*sdk.Comment, *sdk.Response, error) {
		return c.ListIssueComments(g.owner, g.name, int64(number), sdk.ListIssueCommentOptions{ListOptions: o})
	})
	if err != nil {
		if _, missing := g.readPull(ctx, number); errors.Is(missing, forge.ErrNotFound) {
			err = missing
		}
		return nil, err
	}
	return list.Convert(found, func(c *sdk.Comment) forge.HostedComment {
		return forge.HostedComment{ID: c.ID, Text: c.Body, Own: isBy(c.Poster, user)}
	}), nil
}

func isBy(u *sdk.User, user string) bool { return u != nil && strconv.FormatInt(u.ID, 10) == user }

func (g *Forge) createComment(ctx context.Context, number int, text string) error {
	_, _, err := callAPI(ctx, g, "comment", func(c *sdk.Client) (*sdk.Comment, *sdk.Response, error) {
		return c.CreateIssueComment(g.owner, g.name, int64(number), sdk.CreateIssueCommentOption{Body: text})
	})
	return err
}

func (g *Forge) updateComment(ctx context.Context, _ int, id int64, text string) error {
	_, _, err := callAPI(ctx, g, "edit a comment", func(c *sdk.Client) (*sdk.Comment, *sdk.Response, error) {
		return c.EditIssueComment(g.owner, g.name, id, sdk.EditIssueCommentOption{Body: text})
	})
	return err
}

func (g *Forge) readUser(ctx context.Context) (string, error) {
	found, _, err := callAPI(ctx, g, "read the token's user", func(c *sdk.Client) (*sdk.User, *sdk.Response, error) { return c.GetMyUserInfo() })
	if err != nil || found.ID == 0 {
		return "", err
	}
	return strconv.FormatInt(found.ID, 10), nil
}

package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/forge"
)

type user struct {
	ID   int64  `json:"id"`
	Name string `json:"username"`
}

type note struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	Author user   `json:"author"`
	System bool   `json:"system"`
}

const maxNote = 1_000_000

func notesPath(number int) string { return mergeRequestPath(number) + "/notes" }

func (g *Forge) listComments(ctx context.Context, number int, user string) ([]forge.HostedComment, error) {
	found, err := listAll[note](ctx, g, "list comments", notesPath(number), func(o gl.ListOptions) any {
		return &gl.ListMergeRequestNotesOptions{OrderBy: new("created_at"), Sort: new("asc"), ListOptions: o}
	})
	return list.Convert(found, func(n note) forge.HostedComment {
		return forge.HostedComment{ID: n.ID, Text: n.Body, Own: n.isBy(user)}
	}), err
}

// isBy excludes notes that GitLab wrote in the user's name.
func (n note) isBy(user string) bool { return strconv.FormatInt(n.Author.ID, 10) == user && !n.System }

type noteBody struct {
	Body string `json:"body"`
}

func (g *Forge) createComment(ctx context.Context, number int, text string) error {
	_, _, err := callAPI[note](ctx, g, "comment", http.MethodPost, notesPath(number), noteBody{text})
	return err
}

func (g *Forge) updateComment(ctx context.Context, number int, id int64, text string) error {
	_, _, err := callAPI[note](ctx, g, "edit a comment", http.MethodPut, fmt.Sprintf("%s/%d", notesPath(number), id), noteBody{text})
	return err
}

func (g *Forge) readUser(ctx context.Context) (string, error) {
	found, _, err := callAPI[user](ctx, g, "read the token's user", http.MethodGet, "/user", nil)
	if err != nil || found.ID == 0 {
		return "", err
	}
	return strconv.FormatInt(found.ID, 10), nil
}

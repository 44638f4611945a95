package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Changes returns the open merge requests for a branch, newest first, without our
// own. A mark in one of a fork does not make it ours.
func (g *Forge) Changes(ctx context.Context, base string) ([]forge.Change, error) {
	found, err := listAll[mergeRequest](ctx, g, "list open merge requests", mergeRequests, func(o gl.ListOptions) any {
		options := &gl.ListProjectMergeRequestsOptions{
			State: new("opened"), Scope: new("all"), OrderBy: new("created_at"), Sort: new("desc"), ListOptions: o,
		}
		if base != "" {
			options.TargetBranch = &base
		}
		return options
	})
	if err != nil {
		return nil, err
	}
	var all []forge.Change
	for _, m := range found {
		if m.IID == 0 || m.State != "opened" || base != "" && m.TargetBranch != base || m.SHA == "" {
			continue
		}
		if err := g.checkProject(m.item); err != nil {
			return nil, err
		}
		if _, _, err := g.readPull(m); errors.Is(err, forge.ErrNotFound) {
			all = append(all, forge.Change{
				Number: m.IID, Head: m.SourceBranch, Commit: m.SHA, Base: m.TargetBranch, Title: m.Title, URL: m.WebURL,
				Fork: m.SourceProjectID == 0 || m.SourceProjectID != m.TargetProjectID, // it is 0 when the fork is gone
			})
		}
	}
	slices.SortFunc(all, func(a, b forge.Change) int { return cmp.Compare(b.Number, a.Number) })
	// One is on two pages if another was opened in between.
	return slices.CompactFunc(all, func(a, b forge.Change) bool { return a.Number == b.Number }), nil
}

// user is what we read of one.
type user struct {
	ID   int64  `json:"id"`
	Name string `json:"username"`
}

// note is what we read of a comment.
type note struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	Author user   `json:"author"`
	System bool   `json:"system"` // GitLab wrote it
}

// maxNote is how many characters GitLab takes of a comment.
const maxNote = 1_000_000

// PutComment sets the text of our one comment with this mark. The mark is not enough: its
// author has to be the user of the token, as every user can write a mark.
func (g *Forge) PutComment(ctx context.Context, number int, mark, body string) error {
	text, err := forge.FormatComment(mark, escapeActions(body), maxNote)
	if err != nil {
		return err
	}
	self, err := g.tokenUser(ctx)
	if err != nil {
		return err
	}
	notes := mergeRequestPath(number) + "/notes"
	all, err := listAll[note](ctx, g, "list comments", notes, func(o gl.ListOptions) any {
		return &gl.ListMergeRequestNotesOptions{OrderBy: new("created_at"), Sort: new("asc"), ListOptions: o}
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(n note) bool { return n.Author.ID == self && !n.System && forge.IsComment(n.Body, mark) })
	said := struct {
		Body string `json:"body"`
	}{text}
	switch {
	case i < 0:
		_, _, err = callAPI[note](ctx, g, "comment", http.MethodPost, notes, said)
	case !forge.SameComment(all[i].Body, text):
		_, _, err = callAPI[note](ctx, g, "edit a comment", http.MethodPut, fmt.Sprintf("%s/%d", notes, all[i].ID), said)
	}
	return err
}

// tokenUser returns who the token is of, which is asked once.
func (g *Forge) tokenUser(ctx context.Context) (int64, error) {
	g.mu.Lock()
	known := g.user
	g.mu.Unlock()
	if known != 0 {
		return known, nil
	}
	const op = "read the token's user"
	found, _, err := callAPI[user](ctx, g, op, http.MethodGet, "/user", nil)
	if err != nil {
		return 0, err
	}
	if found.ID == 0 {
		return 0, &forge.Refusal{Operation: op, Reason: "GitLab did not say", Advice: "see whether the address is that of GitLab's API"}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.user = found.ID
	return g.user, nil
}

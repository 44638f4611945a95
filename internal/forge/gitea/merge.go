package gitea

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// MergePull merges one of our pull requests, in the way that is the repository's own,
// if its head is a commit. The error is ErrMoved if it is another one, and ErrNotYet
// if something is missing, or the server has to look first; Gitea says the same of a
// conflict. What is merged already stays so.
func (g *Forge) MergePull(ctx context.Context, number int, commit string) error {
	p, err := g.PullToMerge(ctx, number, commit)
	if p == nil || err != nil {
		return err
	}
	if err := g.requestMerge(ctx, "merge a pull request", p.Native, commit, false); err != nil {
		return err
	}
	_, pull, _, err := g.FindPull(ctx, number)
	if err == nil && pull.State != forge.Merged {
		err = &problem.Refusal{Operation: "merge a pull request of " + g.api.Repo, Reason: "the server did not, and did not say why", Advice: "it will be tried again"}
	}
	return err
}

// EnableAutoMerge has the server merge one of our pull requests once nothing that the
// branch requires is missing. The commit is looked at only now: what is pushed
// afterwards is merged too.
func (g *Forge) EnableAutoMerge(ctx context.Context, number int, commit string) error {
	p, err := g.PullToMerge(ctx, number, commit)
	if p == nil || err != nil {
		return err
	}
	err = g.requestMerge(ctx, "auto-merge a pull request", p.Native, commit, true)
	var r *problem.Refusal
	if errors.As(err, &r) && strings.Contains(strings.ToLower(r.Reason), scheduled) {
		return nil
	}
	return err
}

// CancelAutoMerge has the server not merge one of our pull requests any more on its
// own. The server does not show whether it would, so that it is always asked.
func (g *Forge) CancelAutoMerge(ctx context.Context, number int) error {
	_, _, _, err := g.FindPull(ctx, number)
	if err != nil {
		return err
	}
	err = doAPI(ctx, g, "cancel the auto-merge of a pull request", func(*sdk.Client) (*sdk.Response, error) {
		return g.sendRequest(ctx, http.MethodDelete, g.repoURL("pulls", strconv.Itoa(number), "merge"), nil, nil)
	})
	return unlessGone(err) // nothing was scheduled
}

// requestMerge asks for a merge, now or later.
func (g *Forge) requestMerge(ctx context.Context, op string, p *sdk.PullRequest, commit string, later bool) error {
	want := struct {
		Do    string
		Head  string `json:"head_commit_id"`
		Later bool   `json:"merge_when_checks_succeed,omitempty"`
	}{string(cmp.Or(p.Base.Repository.DefaultMergeStyle, sdk.MergeStyleMerge)), commit, later}
	return doAPI(ctx, g, op, func(*sdk.Client) (*sdk.Response, error) {
		return g.sendRequest(ctx, http.MethodPost, g.repoURL("pulls", strconv.FormatInt(p.Index, 10), "merge"), want, nil)
	})
}

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

// mergePull returns ErrMoved for another head, and ErrNotReady for a missing requirement, an
// unfinished check or a conflict, which Gitea does not distinguish.
func (g *Forge) mergePull(ctx context.Context, p *sdk.PullRequest, commit string) error {
	if err := g.requestMerge(ctx, "merge a pull request", p, commit, false); err != nil {
		return err
	}
	_, pull, _, err := g.FindPull(ctx, int(p.Index))
	if err == nil && pull.State != forge.Merged {
		err = &problem.Refusal{Operation: "merge a pull request of " + g.api.Repo, Reason: "the server did not, and did not say why", Advice: "it will be tried again"}
	}
	return err
}

// enableAutoMerge checks the commit only now: commits that are pushed later are merged too.
func (g *Forge) enableAutoMerge(ctx context.Context, p *sdk.PullRequest, commit string) error {
	err := g.requestMerge(ctx, "auto-merge a pull request", p, commit, true)
	var r *problem.Refusal
	if errors.As(err, &r) && strings.Contains(strings.ToLower(r.Reason), scheduled) {
		return nil
	}
	return err
}

func (g *Forge) cancelAutoMerge(ctx context.Context, p *sdk.PullRequest) error {
	err := doAPI(ctx, g, "cancel the auto-merge of a pull request", func(*sdk.Client) (*sdk.Response, error) {
		return g.sendRequest(ctx, http.MethodDelete, g.mergeURL(p), nil, nil)
	})
	return unlessGone(err) // nothing was scheduled
}

func (g *Forge) mergeURL(p *sdk.PullRequest) *url.URL {
	return g.repoURL("pulls", strconv.FormatInt(p.Index, 10), "merge")
}

func (g *Forge) requestMerge(ctx context.Context, op string, p *sdk.PullRequest, commit string, later bool) error {
	want := struct {
		Do    string
		Head  string `json:"head_commit_id"`
		Later bool   `json:"merge_when_checks_succeed,omitempty"`
	}{string(cmp.Or(p.Base.Repository.DefaultMergeStyle, sdk.MergeStyleMerge)), commit, later}
	return doAPI(ctx, g, op, func(*sdk.Client) (*sdk.Response, error) {
		return g.sendRequest(ctx, http.MethodPost, g.mergeURL(p), want, nil)
	})
}

package gitlab

import (
	"context"
	"errors"
	"net/http"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

func (g *Forge) mergePull(ctx context.Context, m mergeRequest, commit string) error {
	return g.acceptMerge(ctx, "merge a merge request", m.IID, gl.AcceptMergeRequestOptions{SHA: &commit})
}

func (g *Forge) acceptMerge(ctx context.Context, op string, number int, o gl.AcceptMergeRequestOptions) error {
	_, answer, err := callAPI[struct{}](ctx, g, op, http.MethodPut, mergeRequestPath(number)+"/merge", &o)
	var r *problem.Refusal
	if answer == nil || !errors.As(err, &r) {
		return err
	}
	switch answer.StatusCode {
	case http.StatusConflict:
		r.Kind, r.Advice = forge.ErrMoved, "it will be looked at again"
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		r.Kind, r.Advice = forge.ErrNotReady, "see on the merge request what is missing; if nothing is, let the token's user merge into the branch: Settings, Repository, Protected branches"
	case http.StatusUnauthorized: // the token was accepted for reading
		r.Reason = "the token's user may not merge this: 401"
		r.Advice = "let it merge into the branch: see the project's settings, Repository, Protected branches"
	}
	return r
}

func (g *Forge) enableAutoMerge(ctx context.Context, m mergeRequest, commit string) error {
	o := gl.AcceptMergeRequestOptions{SHA: &commit}
	// GitLab does not wait without a pipeline.
	pipeline := m.HeadPipeline
	if m.MergeStatus != "mergeable" || pipeline != nil && pipeline.Status != "success" && pipeline.Status != "skipped" {
		o.AutoMerge = new(true)
		//lint:ignore SA1019 GitLab before 17.11 knows only this one, which is to go one day
		o.MergeWhenPipelineSucceeds = new(true)
	}
	return g.acceptMerge(ctx, "auto-merge a merge request", m.IID, o)
}

func (g *Forge) cancelAutoMerge(ctx context.Context, m mergeRequest) error {
	const op = "cancel the auto-merge of a merge request"
	// GitLab answers 201 even when it refuses.
	done, _, err := callAPI[struct{ Status, Message string }](ctx, g, op, http.MethodPost, mergeRequestPath(m.IID)+"/cancel_merge_when_pipeline_succeeds", nil)
	if err != nil || done.Status == "success" {
		return err
	}
	return &problem.Refusal{
		Operation: op + " of " + g.api.Repo, Reason: forge.Quote(done.Message),
		Advice: "let the token's user merge into the branch, or cancel it on the merge request",
	}
}

package github

import (
	"context"
	"errors"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

// methods are in order of preference.
var methods = []string{"merge", "squash", "rebase"}

// The phrases that distinguish GitHub's refusals to merge.
const (
	methodRefused = "not allowed on this repository"
	autoRefused   = "not allowed for this repository"
	noRules       = "protected branch rules not configured"
	isClean       = "in clean status"
	isCleanHooked = "in has_hooks status"
	isInState     = " status"
)

func (g *Forge) mergePull(ctx context.Context, p *gh.PullRequest, commit string) error {
	return tryMethods(func(method string) error {
		_, answer, err := callAPI(g, "merge a pull request", func() (*gh.PullRequestMergeResult, *gh.Response, error) {
			return g.client.PullRequests.Merge(ctx, g.owner, g.name, p.GetNumber(), "", &gh.PullRequestOptions{SHA: commit, MergeMethod: method})
		})
		var r *problem.Refusal
		if answer == nil || !errors.As(err, &r) {
			return err
		}
		switch answer.StatusCode {
		case http.StatusConflict:
			r.Kind, r.Advice = forge.ErrMoved, "it will be looked at again"
		case http.StatusMethodNotAllowed:
			r.Kind, r.Advice = forge.ErrNotReady, "see on the pull request what is missing; if nothing is, let the token's user or App bypass the rules of the branch"
		}
		return r
	})
}

func tryMethods(merge func(method string) error) (err error) {
	for _, method := range methods {
		err = merge(method)
		if !isRefused(err, methodRefused) {
			return err
		}
	}
	return err
}

func isRefused(err error, phrase string) bool {
	var r *problem.Refusal
	return errors.As(err, &r) && strings.Contains(strings.ToLower(r.Reason), phrase)
}

func (g *Forge) enableAutoMerge(ctx context.Context, p *gh.PullRequest, commit string) error {
	err := tryMethods(func(method string) error { return g.requestAutoMerge(ctx, p, commit, method) })
	var r *problem.Refusal
	switch {
	case isRefused(err, isClean) || isRefused(err, isCleanHooked):
		return g.mergePull(ctx, p, commit)
	case !errors.As(err, &r) || r.Kind != nil:
	case isRefused(err, autoRefused):
		r.Kind, r.Advice = forge.ErrUnsupported, "allow auto-merge in the repository's settings, General, Pull Requests"
	case isRefused(err, noRules):
		r.Kind, r.Advice = forge.ErrUnsupported, "have the branch require a status check or a review, so that GitHub knows what to wait for"
	case isRefused(err, isInState): // such as unstable: an optional check has failed or is running
		r.Kind, r.Advice = forge.ErrNotReady, "see on the pull request what has failed; GitHub waits only for checks that the branch requires"
	}
	return err
}

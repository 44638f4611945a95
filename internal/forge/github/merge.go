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

// methods are the ways to merge, the first that a repository allows is taken.
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

// MergePull merges one of our pull requests if it is still at commit. What is merged
// already stays so.
func (g *Forge) MergePull(ctx context.Context, number int, commit string) error {
	p, err := g.PullToMerge(ctx, number, commit)
	if p == nil || err != nil {
		return err
	}
	return g.mergeNow(ctx, number, commit)
}

func (g *Forge) mergeNow(ctx context.Context, number int, commit string) error {
	return tryMethods(func(method string) error {
		_, answer, err := callAPI(g, "merge a pull request", func() (*gh.PullRequestMergeResult, *gh.Response, error) {
			return g.client.PullRequests.Merge(ctx, g.owner, g.name, number, "", &gh.PullRequestOptions{SHA: commit, MergeMethod: method})
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

// tryMethods merges in the first way that the repository allows.
func tryMethods(merge func(method string) error) (err error) {
	for _, method := range methods {
		err = merge(method)
		if !isRefused(err, methodRefused) {
			return err
		}
	}
	return err
}

// isRefused reports whether GitHub refused something with such a phrase, which is all
// that it tells these apart by.
func isRefused(err error, phrase string) bool {
	var r *problem.Refusal
	return errors.As(err, &r) && strings.Contains(strings.ToLower(r.Reason), phrase)
}

// CancelAutoMerge has GitHub not merge one of our pull requests any more on its own.
func (g *Forge) CancelAutoMerge(ctx context.Context, number int) error {
	p, _, _, err := g.FindPull(ctx, number)
	if err != nil || p.Native.AutoMerge == nil {
		return err
	}
	err = g.disableAutoMerge(ctx, p.Native)
	var r *problem.Refusal
	if !errors.As(err, &r) {
		return err
	}
	if p, _, _, again := g.FindPull(ctx, number); again == nil && p.Native.AutoMerge == nil { // it was over meanwhile
		return nil
	}
	return err
}

// EnableAutoMerge has GitHub merge one of our pull requests once nothing that the branch
// requires is missing; now, if nothing is.
func (g *Forge) EnableAutoMerge(ctx context.Context, number int, commit string) error {
	p, err := g.PullToMerge(ctx, number, commit)
	if p == nil || err != nil || p.Native.AutoMerge != nil {
		return err
	}
	err = tryMethods(func(method string) error { return g.enableAutoMerge(ctx, p.Native, commit, method) })
	var r *problem.Refusal
	switch {
	case isRefused(err, isClean) || isRefused(err, isCleanHooked):
		return g.mergeNow(ctx, number, commit)
	case !errors.As(err, &r) || r.Kind != nil:
	case isRefused(err, autoRefused):
		r.Kind, r.Advice = forge.ErrUnsupported, "allow auto-merge in the repository's settings, General, Pull Requests"
	case isRefused(err, noRules):
		r.Kind, r.Advice = forge.ErrUnsupported, "have the branch require a status check or a review, so that GitHub knows what to wait for"
	case isRefused(err, isInState): // as unstable: something that is not required has failed, or is not over
		r.Kind, r.Advice = forge.ErrNotReady, "see on the pull request what has failed; GitHub waits only for checks that the branch requires"
	}
	return err
}

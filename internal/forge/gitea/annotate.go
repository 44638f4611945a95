package gitea

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/forge"
)

func (g *Forge) tidyLineComments(ctx context.Context, c forge.Change, mark, user string, wanted []forge.LineComment) ([]forge.LineComment, error) {
	reviews, err := g.listReviews(ctx, c.Number)
	if err != nil {
		return nil, err
	}
	for _, r := range reviews {
		if !isBy(r.Reviewer, user) || r.State != sdk.ReviewStateComment || r.CodeCommentsCount == 0 {
			continue
		}
		wanted, err = g.tidyReview(ctx, c, r, mark, user, wanted)
		if err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// tidyReview returns the wanted comments that a review lacks. It removes a review that would be
// empty.
func (g *Forge) tidyReview(ctx context.Context, c forge.Change, r *sdk.PullReview, mark, user string, wanted []forge.LineComment) ([]forge.LineComment, error) {
	all, _, err := callAPI(ctx, g, "list a review's comments", func(api *sdk.Client) ([]*sdk.PullReviewComment, *sdk.Response, error) {
		return api.ListPullReviewComments(g.owner, g.name, int64(c.Number), r.ID)
	})
	if err != nil {
		return nil, err
	}
	var old []*sdk.PullReviewComment
	for _, n := range all {
		if !isBy(n.Reviewer, user) || !forge.IsComment(n.Body, mark) {
			continue
		}
		i := slices.IndexFunc(wanted, func(w forge.LineComment) bool {
			return r.CommitID == c.Commit && n.Path == w.Annotation.File && n.LineNum == uint64(w.Annotation.Line) && forge.SameComment(n.Body, w.Text)
		})
		if i < 0 {
			old = append(old, n)
			continue
		}
		wanted = slices.Delete(slices.Clone(wanted), i, i+1)
	}
	if len(old) > 0 && len(old) == len(all) {
		err := doAPI(ctx, g, "remove a review", func(api *sdk.Client) (*sdk.Response, error) {
			return api.DeletePullReview(g.owner, g.name, int64(c.Number), r.ID)
		})
		return wanted, unlessGone(err)
	}
	for _, n := range old {
		if err := g.retireComment(ctx, n, all); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

func (g *Forge) retireComment(ctx context.Context, n *sdk.PullReviewComment, all []*sdk.PullReviewComment) error {
	answered := slices.ContainsFunc(all, func(o *sdk.PullReviewComment) bool {
		return o.Path == n.Path && o.LineNum == n.LineNum && (o.Reviewer == nil || o.Reviewer.ID != n.Reviewer.ID)
	})
	if !answered {
		return unlessGone(doAPI(ctx, g, "remove a comment", func(c *sdk.Client) (*sdk.Response, error) {
			return c.DeleteIssueComment(g.owner, g.name, n.ID)
		}))
	}
	if n.Resolver != nil {
		return nil
	}
	return doAPI(ctx, g, "resolve a comment", func(c *sdk.Client) (*sdk.Response, error) {
		return c.ResolvePullReviewComment(g.owner, g.name, n.ID)
	})
}

func unlessGone(err error) error {
	if errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	return err
}

func (g *Forge) addLineComments(ctx context.Context, c forge.Change, wanted []forge.LineComment) (left []forge.Annotation, err error) {
	p, err := g.pullWithBranches(ctx, c.Number)
	if err != nil {
		return nil, err
	}
	if p.Head.Sha != c.Commit {
		return nil, &problem.Refusal{
			Operation: "annotate a pull request of " + g.api.Repo, Reason: "its branch has another commit by now", Kind: forge.ErrMoved, Advice: "it will be looked at again",
		}
	}
	shown, err := g.readDiff(ctx, c.Number)
	if err != nil {
		return nil, err
	}
	review := sdk.CreatePullReviewOptions{State: sdk.ReviewStateComment, CommitID: c.Commit}
	for _, w := range wanted {
		if _, ok := shown[w.Annotation.File][w.Annotation.Line]; !ok || len(review.Comments) == forge.MaxLineComments {
			left = append(left, w.Annotation)
			continue
		}
		review.Comments = append(review.Comments, sdk.CreatePullReviewComment{Path: w.Annotation.File, Body: w.Text, NewLineNum: int64(w.Annotation.Line)})
	}
	if len(review.Comments) == 0 {
		return left, nil
	}
	_, _, err = callAPI(ctx, g, "make a review", func(api *sdk.Client) (*sdk.PullReview, *sdk.Response, error) {
		return api.CreatePullReview(g.owner, g.name, int64(c.Number), review)
	})
	return left, err
}

// readDiff returns [forge.DiffLines] by file. It omits files whose names Git quotes.
func (g *Forge) readDiff(ctx context.Context, number int) (map[string]map[int]int, error) {
	text, _, err := callAPI(ctx, g, "read the diff", func(c *sdk.Client) ([]byte, *sdk.Response, error) {
		text, answer, err := c.GetPullRequestDiff(g.owner, g.name, int64(number), sdk.PullRequestDiffOptions{})
		if answer != nil && answer.StatusCode >= http.StatusMultipleChoices {
			return nil, answer, errors.New(answerMessage(text))
		}
		return text, answer, err
	})
	if errors.Is(err, forge.ErrEmptyAnswer) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	shown := map[string]map[int]int{}
	for file := range strings.SplitSeq("\n"+string(text), "\ndiff --git ") {
		if _, rest, ok := strings.Cut(file, "\n+++ b/"); ok {
			name, hunks, _ := strings.Cut(rest, "\n")
			shown[strings.TrimSuffix(name, "\t")] = forge.DiffLines(hunks)
		}
	}
	return shown, nil
}

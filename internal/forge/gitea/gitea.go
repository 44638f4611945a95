// Package gitea is the forge for Gitea and Forgejo.
//
// What the package keeps true: only what has our mark is ours; a lookup names the
// branches, and its answer is checked, as the server knows only one of them; labels
// are there before they are given; the token goes to the server and to no other, and
// is in no error.
package gitea

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Forge is a repository of a server. It may be used concurrently.
type Forge struct {
	*forge.Hosted[*sdk.PullRequest]
	owner, name string
	api         *forge.Client
	hasLabel    atomic.Bool // the label of our issues is there, which is not asked again
}

// New makes a Forge of a repository; nothing is read yet. The URL of the API is that of
// the server, without /api/v1.
func New(o forge.Options) (*Forge, error) {
	owner, name, err := forge.SplitRepo("Gitea", o.Repo)
	if err != nil {
		return nil, err
	}
	o.API = strings.TrimSuffix(strings.TrimSuffix(o.API, "/"), "/api/v1")
	api, err := forge.NewClient("Gitea", o)
	if err != nil {
		return nil, err
	}
	g := &Forge{owner: owner, name: name, api: api}
	g.Hosted = forge.NewHosted(api, forge.Calls[*sdk.PullRequest]{
		ListPulls: g.listPulls, ReadPull: g.readPull, CreatePull: g.createPull, UpdatePull: g.updatePull, ParsePull: g.parsePull,
		MergePull: g.mergePull, EnableAutoMerge: g.enableAutoMerge, CancelAutoMerge: g.cancelAutoMerge,
		ListComments: g.listComments, CreateComment: g.createComment, UpdateComment: g.updateComment, CreateStatus: g.createStatus,
		TidyLineComments: g.tidyLineComments, AddLineComments: g.addLineComments,
		ListIssues: g.listIssues, ReadIssue: g.readIssue, CreateIssue: g.createIssue, UpdateIssue: g.updateIssue, ReadUser: g.readUser,
	}, forge.Dialect{
		Pull: "pull request", MaxComment: forge.MaxComment, HidesAutoMerge: true,
		LabelAdvice: "let the token's user write to the repository and its issues, then start again",
	})
	return g, nil
}

// Name is "gitea".
func (g *Forge) Name() string { return "gitea" }

// callAPI does one request, names the operation in its error, and calls the observer.
func callAPI[T any](ctx context.Context, g *Forge, op string, do func(*sdk.Client) (T, *sdk.Response, error)) (v T, answer *sdk.Response, err error) {
	// The SDK's clients are for one context. They are not to ask for the server's version.
	client, err := sdk.NewClient(g.api.URL.String(), sdk.SetContext(ctx), sdk.SetHTTPClient(g.api.HTTP), sdk.SetGiteaVersion(""), sdk.SetUserAgent("fairlead"))
	if err != nil {
		return v, nil, err
	}
	g.api.Do(op, func(what string) error {
		v, answer, err = do(client)
		err = explainError(what, answer, err)
		return err
	})
	return v, answer, err
}

// doAPI does one request of whose answer nothing is read.
func doAPI(ctx context.Context, g *Forge, op string, do func(*sdk.Client) (*sdk.Response, error)) error {
	_, _, err := callAPI(ctx, g, op, func(c *sdk.Client) (any, *sdk.Response, error) {
		answer, err := do(c)
		return nil, answer, err
	})
	return err
}

const (
	pageSize = 50 // the most that servers give, if they are not set up otherwise
	maxPages = 2000
)

// listAll reads all pages of a list. How many a page has is up to the server. Nothing
// in the result is nil.
func listAll[T any](ctx context.Context, g *Forge, op string, page func(*sdk.Client, sdk.ListOptions) ([]*T, *sdk.Response, error)) ([]*T, error) {
	var all []*T
	for n := 1; n <= maxPages; n++ {
		some, answer, err := callAPI(ctx, g, op, func(c *sdk.Client) ([]*T, *sdk.Response, error) {
			return page(c, sdk.ListOptions{Page: n, PageSize: pageSize})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		total, err := strconv.Atoi(answer.Header.Get("X-Total-Count"))
		if len(some) == 0 || err == nil && len(all) >= total {
			return slices.DeleteFunc(all, func(v *T) bool { return v == nil }), nil
		}
	}
	return nil, fmt.Errorf("%s of %s: the list does not end", op, g.api.Repo)
}

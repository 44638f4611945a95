// Package gitea is the forge for Gitea and Forgejo.
//
// What the package keeps true: only items with our mark are ours. Answers are checked against both
// branches, because the server filters by only one. Labels exist before they are set. The token
// goes only to the server, and is in no error.
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

// Forge is a repository of a server. It is safe for concurrent use.
type Forge struct {
	*forge.Hosted[*sdk.PullRequest]
	owner, name string
	api         *forge.Client
	hasLabel    atomic.Bool
}

// New returns a Forge of a repository and reads nothing yet. The API's URL is the server's, without
// /api/v1.
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

// callAPI makes one request, and names the operation in its error.
func callAPI[T any](ctx context.Context, g *Forge, op string, do func(*sdk.Client) (T, *sdk.Response, error)) (v T, answer *sdk.Response, err error) {
	// An SDK client has one context. An empty version keeps it from asking for the server's.
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

func doAPI(ctx context.Context, g *Forge, op string, do func(*sdk.Client) (*sdk.Response, error)) error {
	_, _, err := callAPI(ctx, g, op, func(c *sdk.Client) (any, *sdk.Response, error) {
		answer, err := do(c)
		return nil, answer, err
	})
	return err
}

const (
	pageSize = 50 // the default maximum of servers
	maxPages = 2000
)

// listAll reads all pages; the server chooses their size. No element is nil.
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

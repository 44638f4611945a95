// Package gitea is the forge for Gitea and Forgejo.
//
// What the package keeps true: only what has our mark is ours; a lookup names the
// branches, and its answer is checked, as the server knows only one of them; labels
// are there before they are given; the token goes to the server and to no other, and
// is in no error.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Options say which repository of which server.
type Options struct {
	URL  string // of the server, without /api/v1
	Repo string // "owner/name"
	// Token is asked for before each request.
	Token  func(context.Context) (string, error)
	Client *http.Client // nil for one with the default settings; without a Timeout it has half a minute
	// Limiter is shared by all that use one credential; nil for one of its own.
	Limiter *forge.Limiter
	// Observe is called after each request; nil for no observer.
	Observe func(op string, took time.Duration, err error)
	Now     func() time.Time
}

// Forge is a repository of a server. It may be used concurrently.
type Forge struct {
	*forge.Hosted[*sdk.PullRequest]
	owner, name string
	url         *url.URL // with a slash at its end
	client      *http.Client
	observe     func(string, time.Duration, error)
	now         func() time.Time
	hasLabels   atomic.Bool // the label of our issues is there
}

// New makes a Forge; nothing is read yet.
func New(o Options) (*Forge, error) {
	owner, name, _ := strings.Cut(o.Repo, "/")
	if owner == "" || name == "" || url.PathEscape(owner) != owner || url.PathEscape(name) != name {
		return nil, fmt.Errorf("%q is not the name of a repository on Gitea, owner/name", o.Repo)
	}
	if o.Token == nil || o.Now == nil {
		return nil, errors.New("the forge needs a token and a clock")
	}
	client, at, err := forge.NewClient(forge.ClientOptions{
		API: strings.TrimSuffix(strings.TrimSuffix(o.URL, "/"), "/api/v1"), Forge: "Gitea",
		Base: o.Client, Token: o.Token, Limiter: o.Limiter, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	g := &Forge{owner: owner, name: name, url: at, client: client, observe: o.Observe, now: o.Now}
	g.Hosted = forge.NewHosted(forge.Calls[*sdk.PullRequest]{
		ListPulls: g.listPulls, ReadPull: g.readPull, CreatePull: g.createPull, UpdatePull: g.updatePull,
		ListComments: g.listComments, CreateComment: g.createComment, UpdateComment: g.updateComment, CreateStatus: g.createStatus,
		ListIssues: g.listIssues, ReadIssue: g.readIssue, CreateIssue: g.createIssue, UpdateIssue: g.updateIssue, ReadUser: g.readUser,
	}, forge.Dialect{
		Forge: "Gitea", Repo: g.fullName(), Pull: "pull request", MaxComment: forge.MaxComment,
		LabelAdvice: "let the token's user write to the repository and its issues, then start again",
	})
	return g, nil
}

// Name is "gitea".
func (g *Forge) Name() string { return "gitea" }

func (g *Forge) fullName() string { return g.owner + "/" + g.name }

// newSDK makes a client for one call: the SDK's clients are for one context. It is not
// to ask for the server's version before each.
func (g *Forge) newSDK(ctx context.Context) (*sdk.Client, error) {
	return sdk.NewClient(g.url.String(), sdk.SetContext(ctx), sdk.SetHTTPClient(g.client), sdk.SetGiteaVersion(""), sdk.SetUserAgent("fairlead"))
}

// callAPI does one request, names the operation in its error, and calls the observer.
func callAPI[T any](ctx context.Context, g *Forge, op string, do func(*sdk.Client) (T, *sdk.Response, error)) (T, *sdk.Response, error) {
	client, err := g.newSDK(ctx)
	if err != nil {
		var none T
		return none, nil, err
	}
	start := g.now()
	v, answer, err := do(client)
	err = explainError(op+" of "+g.fullName(), answer, err)
	if g.observe != nil {
		g.observe(op, g.now().Sub(start), err)
	}
	return v, answer, err
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
	return nil, fmt.Errorf("%s of %s: the list does not end", op, g.fullName())
}

// Package github is the forge for github.com and GitHub Enterprise Server.
//
// What the package keeps true: a lookup names owner and branch, and its answer is
// checked; only what has our mark is ours; the token goes to the API's host and to no
// other, and is in no error.
package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Options say which repository of GitHub, or of a GitHub Enterprise Server.
type Options struct {
	Repo string // "owner/name"
	API  string // "" is https://api.github.com; a server of one's own has https://HOST/api/v3
	// Token is asked for before each request.
	Token  func(context.Context) (string, error)
	App    bool         // the token is that of a GitHub App, which may do more
	Client *http.Client // nil for one with the default settings; without a Timeout it has half a minute
	// Limiter is shared by all that use one credential; nil for one of its own.
	Limiter *forge.Limiter
	// Observe is called after each request; nil for no observer.
	Observe func(op string, took time.Duration, err error)
	Now     func() time.Time
}

// Forge is a repository of GitHub. It may be used concurrently.
type Forge struct {
	*forge.Hosted[*gh.PullRequest]
	owner, name string
	app         bool
	client      *gh.Client
	observe     func(string, time.Duration, error)
	now         func() time.Time
}

// pull is a pull request of GitHub.
type pull = forge.HostedPull[*gh.PullRequest]

// New makes a Forge; nothing is read yet.
func New(o Options) (*Forge, error) {
	owner, name, _ := strings.Cut(o.Repo, "/")
	if owner == "" || name == "" || url.PathEscape(owner) != owner || url.PathEscape(name) != name {
		return nil, fmt.Errorf("%q is not the name of a repository on GitHub, owner/name", o.Repo)
	}
	if o.Token == nil || o.Now == nil {
		return nil, errors.New("GitHub needs a token and a clock")
	}
	client, err := newClient(forge.ClientOptions{API: o.API, Base: o.Client, Token: o.Token, Limiter: o.Limiter, Now: o.Now})
	if err != nil {
		return nil, err
	}
	g := &Forge{owner: owner, name: name, app: o.App, client: client, observe: o.Observe, now: o.Now}
	g.Hosted = forge.NewHosted(forge.Calls[*gh.PullRequest]{
		ListPulls: g.listPulls, ReadPull: g.readPull, CreatePull: g.createPull, UpdatePull: g.updatePull,
		ListComments: g.listComments, CreateComment: g.createComment, UpdateComment: g.updateComment, CreateStatus: g.createStatus,
		ListIssues: g.listIssues, ReadIssue: g.readIssue, CreateIssue: g.createIssue, UpdateIssue: g.updateIssue, ReadUser: g.readUser,
	}, forge.Dialect{
		Forge: "GitHub", Repo: g.fullName(), Pull: "pull request", FoldLabels: true, MaxComment: forge.MaxComment,
		LabelAdvice: "let the token write issues and labels (fine-grained: Issues read and write; classic: repo), then start again",
	})
	return g, nil
}

// Name is "github".
func (g *Forge) Name() string { return "github" }

// newClient makes a client of GitHub's API.
func newClient(o forge.ClientOptions) (*gh.Client, error) {
	o.API, o.Forge = cmp.Or(o.API, publicAPI), "GitHub"
	client, at, err := forge.NewClient(o)
	if err != nil {
		return nil, err
	}
	c := gh.NewClient(client)
	c.BaseURL, c.UserAgent = at, "fairlead"
	return c, nil
}

const publicAPI = "https://api.github.com"

func (g *Forge) fullName() string { return g.owner + "/" + g.name }

// callAPI does one request, names the operation in its error, and calls the observer.
func callAPI[T any](g *Forge, op string, do func() (T, *gh.Response, error)) (T, *gh.Response, error) {
	start := g.now()
	v, answer, err := do()
	err = explainError(op+" of "+g.fullName(), err)
	if g.observe != nil {
		g.observe(op, g.now().Sub(start), err)
	}
	return v, answer, err
}

// listAll reads all pages of a list.
func listAll[T any](g *Forge, op string, page func(gh.ListOptions) ([]T, *gh.Response, error)) ([]T, error) {
	var all []T
	o := gh.ListOptions{PerPage: 100}
	for {
		some, answer, err := callAPI(g, op, func() ([]T, *gh.Response, error) { return page(o) })
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if answer.NextPage <= o.Page {
			return all, nil
		}
		o.Page = answer.NextPage
	}
}

// Package github is the forge for github.com and GitHub Enterprise Server.
//
// What the package keeps true: a lookup names owner and branch, and its answer is checked. Only
// items with our mark are ours. The token goes only to the API's host, and is in no error.
package github

import (
	"cmp"

	gh "github.com/google/go-github/v57/github"

	"github.com/fairlead-io/fairlead/internal/forge"
)

// Forge is a repository of GitHub. It is safe for concurrent use.
type Forge struct {
	*forge.Hosted[*gh.PullRequest]
	owner, name string
	app         bool
	api         *forge.Client
	client      *gh.Client
}

type pull = forge.HostedPull[*gh.PullRequest]

// New returns a Forge of a repository. The API of a GitHub Enterprise Server is
// https://HOST/api/v3.
func New(o forge.Options) (*Forge, error) {
	owner, name, err := forge.SplitRepo("GitHub", o.Repo)
	if err != nil {
		return nil, err
	}
	api, client, err := newClient(o)
	if err != nil {
		return nil, err
	}
	g := &Forge{owner: owner, name: name, app: o.App, api: api, client: client}
	g.Hosted = forge.NewHosted(api, forge.Calls[*gh.PullRequest]{
		ListPulls: g.listPulls, ReadPull: g.readPull, CreatePull: g.createPull, UpdatePull: g.updatePull, ParsePull: g.parsePull,
		MergePull: g.mergePull, EnableAutoMerge: g.enableAutoMerge, CancelAutoMerge: g.cancelAutoMerge,
		ListComments: g.listComments, CreateComment: g.createComment, UpdateComment: g.updateComment, CreateStatus: g.createStatus,
		ListIssues: g.listIssues, ReadIssue: g.readIssue, CreateIssue: g.createIssue, UpdateIssue: g.updateIssue, ReadUser: g.readUser,
	}, forge.Dialect{
		Pull: "pull request", FoldLabels: true, MaxComment: forge.MaxComment,
		LabelAdvice: "let the token write issues and labels (fine-grained: Issues read and write; classic: repo), then start again",
	})
	return g, nil
}

// Name is "github".
func (g *Forge) Name() string { return "github" }

func newClient(o forge.Options) (*forge.Client, *gh.Client, error) {
	o.API = cmp.Or(o.API, "https://api.github.com")
	api, err := forge.NewClient("GitHub", o)
	if err != nil {
		return nil, nil, err
	}
	client := gh.NewClient(api.HTTP)
	client.BaseURL, client.UserAgent = api.URL, "fairlead"
	return api, client, nil
}

func callAPI[T any](g *Forge, op string, do func() (T, *gh.Response, error)) (v T, answer *gh.Response, err error) {
	g.api.Do(op, func(what string) error {
		v, answer, err = do()
		err = explainError(what, err)
		return err
	})
	return v, answer, err
}

const pageSize = 100

func listAll[T any](g *Forge, op string, page func(gh.ListOptions) ([]T, *gh.Response, error)) ([]T, error) {
	var all []T
	o := gh.ListOptions{PerPage: pageSize}
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

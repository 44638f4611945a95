package access

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/gitea"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/forge/gitlab"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// Watch observes requests to forges. Its functions may be nil.
type Watch struct {
	// Call is called after every request, Left with how many are left before the limit.
	Call func(kind, op string, took time.Duration, err error)
	Left func(api string, left int)
}

// Open returns the forge of a repository. Where it has no API, its pull requests are
// references of the repository itself, and plain makes it.
func (k *Keys) Open(place string, w Watch, plain func() forge.Forge) (forge.Forge, error) {
	at, err := ForgeOf(k.settings, place)
	if err != nil {
		return nil, err
	}
	if at.Kind == "git" {
		return plain(), nil
	}
	token, err := k.API(place)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", giturl.Redact(place), err)
	}
	limiter := k.Limiter(place)
	if w.Left != nil {
		limiter.WatchRemaining(func(left int) { w.Left(at.API, left) })
	}
	remote, _ := k.settings.Remote(place)
	o := apiOptions{repo: at.Repo, api: at.API, token: token, app: remote.GitHubApp != nil, limiter: limiter, now: k.now, observe: func(string, time.Duration, error) {}}
	if w.Call != nil {
		o.observe = func(op string, took time.Duration, err error) { w.Call(at.Kind, op, took, err) }
	}
	return forges[at.Kind](o)
}

// apiOptions are what every forge with an API needs.
type apiOptions struct {
	repo    string // its path on the server
	api     string // its URL
	token   func(context.Context) (string, error)
	app     bool // the token is that of a GitHub App
	limiter *forge.Limiter
	observe func(op string, took time.Duration, err error)
	now     func() time.Time
}

// forges are the kinds with an API. Adding one is its package and a line here.
var forges = map[string]func(apiOptions) (forge.Forge, error){
	"github": func(o apiOptions) (forge.Forge, error) {
		return github.New(github.Options{Repo: o.repo, API: o.api, Token: o.token, App: o.app, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
	"gitlab": func(o apiOptions) (forge.Forge, error) {
		return gitlab.New(gitlab.Options{Project: o.repo, API: o.api, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
	"gitea": func(o apiOptions) (forge.Forge, error) {
		return gitea.New(gitea.Options{URL: o.api, Repo: o.repo, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
}

// Committer returns the forge of a repository as what makes commits, if the settings want
// it to and it can; nil otherwise.
func (k *Keys) Committer(place string, f forge.Forge) forge.Committer {
	remote, _ := k.settings.Remote(place)
	if !k.settings.Output.VerifiedCommits || remote.GitHubApp == nil {
		return nil
	}
	committer, _ := f.(forge.Committer)
	return committer
}

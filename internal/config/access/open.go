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

// Observer observes requests to forges. Its functions may be nil.
type Observer struct {
	// OnCall is called after every request, Left with how many are left before the limit.
	OnCall      func(kind, op string, took time.Duration, err error)
	OnRemaining func(api string, left int)
}

// OpenForge returns the forge of a repository. Where it has no API, its pull requests are
// references of the repository itself, and plain makes it.
func (k *Keyring) OpenForge(place string, w Observer, plain func() forge.Forge) (forge.Forge, error) {
	at, err := LocateForge(k.settings, place)
	if err != nil {
		return nil, err
	}
	if at.Kind == "git" {
		return plain(), nil
	}
	token, err := k.APIToken(place)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", giturl.Redact(place), err)
	}
	limiter := k.Limiter(place)
	if w.OnRemaining != nil {
		limiter.WatchRemaining(func(left int) { w.OnRemaining(at.API, left) })
	}
	remote, _ := k.settings.Remote(place)
	o := forgeOptions{repo: at.Repo, api: at.API, token: token, app: remote.GitHubApp != nil, limiter: limiter, now: k.now, observe: func(string, time.Duration, error) {}}
	if w.OnCall != nil {
		o.observe = func(op string, took time.Duration, err error) { w.OnCall(at.Kind, op, took, err) }
	}
	return openers[at.Kind](o)
}

// forgeOptions are what every forge with an API needs.
type forgeOptions struct {
	repo    string // its path on the server
	api     string // its URL
	token   func(context.Context) (string, error)
	app     bool // the token is that of a GitHub App
	limiter *forge.Limiter
	observe func(op string, took time.Duration, err error)
	now     func() time.Time
}

// openers are the kinds with an API. Adding one is its package and a line here.
var openers = map[string]func(forgeOptions) (forge.Forge, error){
	"github": func(o forgeOptions) (forge.Forge, error) {
		return github.New(github.Options{Repo: o.repo, API: o.api, Token: o.token, App: o.app, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
	"gitlab": func(o forgeOptions) (forge.Forge, error) {
		return gitlab.New(gitlab.Options{Project: o.repo, API: o.api, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
	"gitea": func(o forgeOptions) (forge.Forge, error) {
		return gitea.New(gitea.Options{URL: o.api, Repo: o.repo, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
}

// Committer returns the forge of a repository as what makes commits, if the settings want
// it to and it can; nil otherwise.
func (k *Keyring) Committer(place string, f forge.Forge) forge.Committer {
	remote, _ := k.settings.Remote(place)
	if !k.settings.Output.VerifiedCommits || remote.GitHubApp == nil {
		return nil
	}
	committer, _ := f.(forge.Committer)
	return committer
}

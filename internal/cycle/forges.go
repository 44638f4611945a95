package cycle

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/gitea"
	"github.com/fairlead-io/fairlead/internal/github"
	"github.com/fairlead-io/fairlead/internal/gitlab"
)

// forge gives the forge of a repository. It is made once: some remember what they
// have said.
func (l *Loop) forge(r *remote) (forge.Forge, error) {
	r.forgeMu.Lock()
	defer r.forgeMu.Unlock()
	if r.forge != nil {
		return r.forge, nil
	}
	made, err := l.newForge(r)
	if err == nil {
		r.forge = made
	}
	return made, err
}

func (l *Loop) newForge(r *remote) (forge.Forge, error) {
	at, err := access.ForgeOf(l.Settings, r.place)
	if err != nil {
		return nil, err
	}
	if at.Kind == "git" {
		return forge.NewPlain(r.Remote, l.author, l.Now), nil
	}
	token, err := l.remotes.keys.API(r.place)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", git.Redact(r.place), err)
	}
	limiter := l.remotes.keys.Limiter(r.place)
	limiter.Watch(func(left int) { l.Metrics.RateLimitLeft(at.API, left) })
	o := apiOptions{
		repo: at.Repo, api: at.API, token: token, limiter: limiter,
		observe: func(op string, took time.Duration, err error) { l.Metrics.ForgeCall(at.Kind, op, took, err != nil) }, now: l.Now,
	}
	return forges[at.Kind](o)
}

// apiOptions are what every forge with an API needs.
type apiOptions struct {
	repo    string // its path on the server
	api     string // its URL
	token   func(context.Context) (string, error)
	limiter *forge.Limiter
	observe func(op string, took time.Duration, err error)
	now     func() time.Time
}

// forges are the kinds with an API. Adding one is its package and a line here.
var forges = map[string]func(apiOptions) (forge.Forge, error){
	"github": func(o apiOptions) (forge.Forge, error) {
		return github.New(github.Options{Repo: o.repo, API: o.api, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
	"gitlab": func(o apiOptions) (forge.Forge, error) {
		return gitlab.New(gitlab.Options{Project: o.repo, API: o.api, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
	"gitea": func(o apiOptions) (forge.Forge, error) {
		return gitea.New(gitea.Options{URL: o.api, Repo: o.repo, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
}

// Knows reports whether the loop reads a repository, by its normalized URL: also by
// the URL that the settings' map reads elsewhere. Forges write names in their own
// case.
func (l *Loop) Knows(normal string) bool {
	l.remotes.mu.Lock()
	defer l.remotes.mu.Unlock()
	for known := range l.remotes.all {
		if strings.EqualFold(known, normal) {
			return true
		}
	}
	for url := range l.Settings.Map {
		if strings.EqualFold(git.Normalize(url), normal) {
			return true
		}
	}
	return strings.EqualFold(git.Normalize(l.Settings.ControlPlane.Repo), normal)
}

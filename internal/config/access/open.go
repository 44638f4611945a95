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
	// OnCall is called after each request, OnRemaining with the requests left in the rate limit.
	OnCall      func(kind, op string, took time.Duration, err error)
	OnRemaining func(api string, left int)
	// BeforeWrite is as in [forge.Options].
	BeforeWrite func(context.Context) error
}

// OpenForge returns the forge of a repository; plain makes one without an API.
func (k *Keyring) OpenForge(location string, w Observer, plain func() forge.Forge) (forge.Forge, error) {
	at, err := LocateForge(k.settings, location)
	if err != nil {
		return nil, err
	}
	if at.Kind == "git" {
		return plain(), nil
	}
	token, err := k.APIToken(location)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", giturl.Redact(location), err)
	}
	limiter := k.Limiter(location)
	if w.OnRemaining != nil {
		limiter.WatchRemaining(func(left int) { w.OnRemaining(at.API, left) })
	}
	remote, _ := k.settings.Remote(location)
	o := forge.Options{Repo: at.Repo, API: at.API, Token: token, App: remote.GitHubApp != nil, Limiter: limiter, Now: k.now, BeforeWrite: w.BeforeWrite}
	if w.OnCall != nil {
		o.Observe = func(op string, took time.Duration, err error) { w.OnCall(at.Kind, op, took, err) }
	}
	return openers[at.Kind](o)
}

// OpenForgeAs returns the forge of a repository with a person's token.
func (k *Keyring) OpenForgeAs(location string, token func(context.Context) (string, error)) (forge.Forge, error) {
	at, err := LocateForge(k.settings, location)
	if err != nil {
		return nil, err
	}
	open, hasAPI := openers[at.Kind]
	if !hasAPI {
		return nil, fmt.Errorf("%s: there is no API for a person's token", giturl.Redact(location))
	}
	return open(forge.Options{Repo: at.Repo, API: at.API, Token: token, Limiter: &forge.Limiter{}, Now: k.now})
}

var openers = map[string]func(forge.Options) (forge.Forge, error){
	"github": func(o forge.Options) (forge.Forge, error) { return github.New(o) },
	"gitlab": func(o forge.Options) (forge.Forge, error) { return gitlab.New(o) },
	"gitea":  func(o forge.Options) (forge.Forge, error) { return gitea.New(o) },
}

// Committer returns f if the settings want it to make commits and it can, or nil.
func (k *Keyring) Committer(location string, f forge.Forge) forge.Committer {
	remote, _ := k.settings.Remote(location)
	if !k.settings.Output.VerifiedCommits || remote.GitHubApp == nil {
		return nil
	}
	committer, _ := f.(forge.Committer)
	return committer
}

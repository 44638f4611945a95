// Package access finds the credentials, the forge and the location of a repository in the settings.
//
// What the package keeps true: a secret is read on each use, so that a change needs no restart. It
// is used only for the locations of its remote. Users of one credential share its limits, and users
// of one GitHub App share its token. No error contains a secret.
package access

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/git"
)

// Keyring are the credentials of the settings. It is safe for concurrent use.
type Keyring struct {
	settings *config.Settings
	now      func() time.Time

	mu       sync.Mutex
	apps     map[string]*github.App
	limiters map[string]*forge.Limiter
}

// New makes a Keyring and reads nothing yet.
func New(settings *config.Settings, now func() time.Time) *Keyring {
	return &Keyring{settings: settings, now: now, apps: map[string]*github.App{}, limiters: map[string]*forge.Limiter{}}
}

const appUsername = "x-access-token"

// GitCredentials returns the source of credentials for a location; nil for none.
func (k *Keyring) GitCredentials(location string) func(context.Context) (git.Credentials, error) {
	remote, ok := k.settings.Remote(location)
	if !ok {
		return nil
	}
	return func(ctx context.Context) (git.Credentials, error) {
		switch {
		case remote.Token != nil:
			secret, err := remote.Token.Read()
			return git.Credentials{Username: remote.Username, Secret: secret.Reveal()}, err
		case remote.SSH != nil:
			return readSSH(remote.SSH)
		}
		app, err := k.openApp(remote)
		if err != nil {
			return git.Credentials{}, err
		}
		token, err := app.Token(ctx)
		return git.Credentials{Username: appUsername, Secret: token}, err
	}
}

func readSSH(s *config.SSH) (git.Credentials, error) {
	key, err := s.Key.Read()
	if err != nil {
		return git.Credentials{}, err
	}
	who := git.Credentials{Key: []byte(key.Reveal() + "\n"), KnownHosts: s.KnownHosts}
	if s.Passphrase != nil {
		passphrase, err := s.Passphrase.Read()
		if err != nil {
			return git.Credentials{}, err
		}
		who.Passphrase = passphrase.Reveal()
	}
	return who, nil
}

// ErrNoToken means that the settings have no token for a forge's API.
var ErrNoToken = errors.New("its API needs a token: write one into remotes in the settings")

// APIToken returns the source of tokens for the API of a location's forge. The error is ErrNoToken,
// or about an App's key.
func (k *Keyring) APIToken(location string) (func(context.Context) (string, error), error) {
	remote, _ := k.settings.Remote(location)
	switch {
	case remote.Token != nil:
		return func(context.Context) (string, error) {
			secret, err := remote.Token.Read()
			return secret.Reveal(), err
		}, nil
	case remote.GitHubApp != nil:
		app, err := k.openApp(remote)
		if err != nil {
			return nil, err
		}
		return app.Token, nil
	}
	return nil, ErrNoToken
}

func (k *Keyring) openApp(remote config.Remote) (*github.App, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.apps[remote.URL]; known != nil {
		return known, nil
	}
	key, err := remote.GitHubApp.Key.Read()
	if err != nil {
		return nil, err
	}
	made, err := github.NewApp(github.AppOptions{
		ID: fmt.Sprint(remote.GitHubApp.ID), Installation: remote.GitHubApp.Installation, Key: []byte(key.Reveal()), API: remote.GitHubApp.API, Now: k.now,
	})
	if err != nil {
		return nil, err
	}
	k.apps[remote.URL] = made
	return made, nil
}

// Limiter returns the limits of a location's credential, shared by its users.
func (k *Keyring) Limiter(location string) *forge.Limiter {
	remote, _ := k.settings.Remote(location)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.limiters[remote.URL] == nil {
		k.limiters[remote.URL] = &forge.Limiter{}
	}
	return k.limiters[remote.URL]
}

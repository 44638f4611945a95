package cycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/gitea"
	"github.com/fairlead-io/fairlead/internal/github"
	"github.com/fairlead-io/fairlead/internal/gitlab"
)

// unknownForge says that nothing tells what answers at a host.
type unknownForge struct{ host string }

// Error names the host.
func (u *unknownForge) Error() string {
	return fmt.Sprintf("the settings do not say what kind of forge %s is", u.host)
}

// Hint says what to write.
func (u *unknownForge) Hint() string {
	return fmt.Sprintf("write forges: [{host: %s, kind: …}] into the settings; kind git proposes by branches alone, on any host", u.host)
}

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
	kind, api, err := l.kindOf(r.place)
	if err != nil {
		return nil, err
	}
	if kind == "git" {
		return forge.NewPlain(r.Remote, l.author, l.Now), nil
	}
	settings, _ := l.Settings.Remote(r.place)
	token, err := l.remotes.apiToken(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", git.Redact(r.place), err)
	}
	o := apiOptions{
		repo: pathOf(r.place), server: serverOf(r.place), api: api, token: token, limiter: l.remotes.limiter(settings.URL),
		observe: func(op string, took time.Duration, err error) { l.Metrics.ForgeCall(kind, op, took, err != nil) }, now: l.Now,
	}
	return forges[kind](o)
}

// apiOptions are what every forge with an API needs.
type apiOptions struct {
	repo    string // its path on the server
	server  string // https://HOST
	api     string // as the settings say it
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
		return gitlab.New(gitlab.Options{Project: o.repo, API: cmp.Or(o.api, o.server+"/api/v4"), Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
	"gitea": func(o apiOptions) (forge.Forge, error) {
		return gitea.New(gitea.Options{URL: cmp.Or(o.api, o.server), Repo: o.repo, Token: o.token, Limiter: o.limiter, Observe: o.observe, Now: o.now})
	},
}

// kindOf gives the kind of forge at a place: what the settings say, or what everybody
// knows.
func (l *Loop) kindOf(place string) (kind, api string, err error) {
	host := hostOf(place)
	for _, f := range l.Settings.Forges {
		if strings.EqualFold(f.Host, host) {
			return f.Kind, f.API, nil
		}
	}
	switch {
	case host == "": // a path, or SSH with nothing said: Git alone
		return "git", "", nil
	case host == "github.com":
		return "github", "", nil
	case host == "gitlab.com":
		return "gitlab", "", nil
	}
	return "", "", &unknownForge{host}
}

// hostOf gives the host of an http URL, with its port, in lower case; for SSH only
// that of forges that everybody knows; "" for all else.
func hostOf(place string) string {
	normal, _, _ := strings.Cut(git.Normalize(place), "/")
	u, err := url.Parse(place)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
		return strings.ToLower(u.Host)
	case git.IsRemote(place) && (normal == "github.com" || normal == "gitlab.com"):
		return normal
	}
	return ""
}

// serverOf gives the beginning of a place's URL, up to the host.
func serverOf(place string) string {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		host, _, _ := strings.Cut(git.Normalize(place), "/")
		return "https://" + host
	}
	return u.Scheme + "://" + u.Host
}

// pathOf gives the path of a repository on its host: "owner/name".
func pathOf(place string) string {
	_, p, _ := strings.Cut(git.Normalize(place), "/")
	return p
}

// apiToken gives where the token for a forge's API comes from.
func (r *remotes) apiToken(s config.Remote) (func(context.Context) (string, error), error) {
	switch {
	case s.Token != nil:
		return func(context.Context) (string, error) {
			secret, err := s.Token.Read()
			return secret.Reveal(), err
		}, nil
	case s.GitHubApp != nil:
		app, err := r.app(s)
		if err != nil {
			return nil, err
		}
		return app.Token, nil
	}
	return nil, errors.New("its API needs a token: write one into remotes in the settings")
}

// app gives the GitHub App of a remote; all that use it share its token.
func (r *remotes) app(s config.Remote) (*github.App, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.apps[s.URL]; known != nil {
		return known, nil
	}
	key, err := s.GitHubApp.Key.Read()
	if err != nil {
		return nil, err
	}
	made, err := github.NewApp(github.AppOptions{
		ID: fmt.Sprint(s.GitHubApp.ID), Installation: s.GitHubApp.Installation, Key: []byte(key.Reveal()), API: s.GitHubApp.API, Now: r.Now,
	})
	if err != nil {
		return nil, err
	}
	if r.apps == nil {
		r.apps = map[string]*github.App{}
	}
	r.apps[s.URL] = made
	return made, nil
}

// limiter gives the limits of a credential, which are the same for all that use it.
func (r *remotes) limiter(credential string) *forge.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limiters == nil {
		r.limiters = map[string]*forge.Limiter{}
	}
	if r.limiters[credential] == nil {
		r.limiters[credential] = &forge.Limiter{}
	}
	return r.limiters[credential]
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

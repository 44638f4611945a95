package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/lever"
	"github.com/fairlead-io/fairlead/internal/server/permit"
	"github.com/fairlead-io/fairlead/internal/server/session"
	"github.com/fairlead-io/fairlead/internal/server/web"
)

// leverFolder is the folder in the data folder with the mirrors of operator actions. They do not wait for the
// cycle that runs, which has mirrors of its own.
const leverFolder = "levers"

// endedFile lists the sessions that people have ended, in the data folder.
const endedFile = "signed-out.json"

// newPeople returns what knows the people at the page; nil if nobody signs in.
func newPeople(o Options, store *status.Store, m *metrics.Metrics, logger *slog.Logger, wake func()) (*web.People, error) {
	s := o.Settings
	if s.Web.SignIn == nil && o.Local == nil {
		return nil, nil
	}
	by, acts, roles := s.Web.SignIn, s.Web.Actions && s.Write, s.Web.Roles
	if o.Local != nil {
		by, acts, roles = &config.SignIn{}, s.Write, []config.Role{{Groups: []string{permit.Everybody}, May: config.WebActions(), In: []string{"*"}}}
	}
	policy := permit.Policy{Actions: acts, Roles: list.Convert(roles, func(r config.Role) permit.Role {
		return permit.Role{Groups: r.Groups, May: r.May, In: r.In}
	})}
	atForge, err := newForgeSignIn(s, by.Forge)
	if err != nil {
		return nil, err
	}
	p := &web.People{
		Policy: policy, SignedInOnly: s.Web.Read == config.ReadSignedIn,
		Keeper: session.New(session.Options{
			URL: s.Web.URL, OIDC: by.OIDC, Forge: atForge, Proxy: by.Proxy, Local: o.Local, Keys: s.SessionKeys, Idle: s.Web.Session.Idle, Life: s.Web.Session.Life,
			FilterGroups: policy.FilterGroups, Ended: filepath.Join(s.DataDir, endedFile), Now: o.Now, Logger: logger,
		}),
	}
	if !acts {
		return p, nil
	}
	sign, err := loop.NewSigner(s.Signing)
	if err != nil {
		return nil, err
	}
	keys := access.New(s, o.Now)
	mirrors := &repos.Mirrors{Dir: filepath.Join(s.DataDir, leverFolder), Options: func(location string) (git.RemoteOptions, error) {
		guard, err := access.GuardLocation(s, location)
		credentials := keys.GitCredentials(location)
		if atForge != nil && giturl.HTTPServer(location) == atForge.Server {
			credentials = personCredentials(credentials)
		}
		return git.RemoteOptions{Guard: guard, IsTrusted: s.NamesRepository, Timeout: s.Timeout, Credentials: credentials}, err
	}}
	with := actions.Options{
		ControlPlane: s.ControlPlane.Repo, BaseBranch: s.ControlPlane.Branch, Map: s.Map, Next: s.NextEnvironment, Mirrors: mirrors, Prefix: s.Output.BranchPrefix,
		Committer: git.Signature{Name: s.Author.Name, Email: s.Author.Email}, Sign: sign, Now: o.Now,
	}
	with.Registries = registry.FromSettings(s, keys, o.Now)
	with.Statuses = func(remote *git.Remote, place string) (forge.Forge, error) {
		return keys.OpenForge(place, access.Observer{}, func() forge.Forge { return forge.NewPlain(remote, with.Committer, o.Now) })
	}
	with.Rendering.PublishMissing = s.MissingValues == "publish"
	operator := lever.Options{Actions: with, Policy: policy, Store: store, Metrics: m, Logger: logger, Wake: wake}
	openAs := func(who session.Person, place string) (forge.Forge, error) {
		return keys.OpenForgeAs(place, func(context.Context) (string, error) { return who.Token.Reveal(), nil })
	}
	operator.Pulls = func(ctx context.Context, who session.Person, place string) (forge.Forge, error) {
		location := access.ReadLocation(s, place)
		at, err := access.LocateForge(s, location)
		switch {
		case err != nil:
			return nil, err
		case at.Kind == "git":
			remote, err := mirrors.Fetch(ctx, location)
			return forge.NewPlain(remote, who.Signature(), o.Now).As(forge.Commission{Committer: with.Committer, Sign: sign, Trailers: lever.Trailers(who)}), err
		case atForge != nil && giturl.HTTPServer(location) == atForge.Server:
			return openAs(who, location)
		}
		return nil, problem.Refusef("merge or close it there", "people do not sign in at the forge of %s, so that nothing can be done there in their name", giturl.Redact(location))
	}
	if atForge != nil {
		operator.Forge = openAs
	}
	p.Operator = lever.New(operator)
	return p, nil
}

// newForgeSignIn returns the forge that people sign in at: that of the control plane; nil for none.
func newForgeSignIn(s *config.Settings, f *config.ForgeSignIn) (*session.Forge, error) {
	if f == nil {
		return nil, nil
	}
	place := access.ReadLocation(s, s.ControlPlane.Repo)
	at, err := access.LocateForge(s, place)
	if err != nil {
		return nil, err
	}
	if !session.CanSignIn(at.Kind) {
		return nil, fmt.Errorf("web.signIn.forge: nobody can sign in at %s, which is a forge of kind %s", giturl.Redact(place), at.Kind)
	}
	return &session.Forge{Kind: at.Kind, Server: giturl.HTTPServer(place), API: at.API, ClientID: f.ClientID, ClientSecret: f.ClientSecret, Scopes: f.Scopes}, nil
}

// personUsername goes with the token of a person: forges do not read it.
const personUsername = "oauth2"

// personCredentials returns credentials that are those of the person on whose behalf something is done. Where
// that is nobody, they are those of Fairlead, which only reads there.
func personCredentials(others func(context.Context) (git.Credentials, error)) func(context.Context) (git.Credentials, error) {
	return func(ctx context.Context) (git.Credentials, error) {
		who := session.FindPerson(ctx)
		switch {
		case who != nil:
			return git.Credentials{Username: personUsername, Secret: who.Token.Reveal()}, nil
		case others != nil:
			return others(ctx)
		}
		return git.Credentials{}, nil
	}
}

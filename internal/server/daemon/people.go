package daemon

import (
	"log/slog"
	"path/filepath"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
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

// newPeople returns what knows the people at the page; nil if nobody signs in.
func newPeople(o Options, store *status.Store, m *metrics.Metrics, logger *slog.Logger, wake func()) (*web.People, error) {
	s := o.Settings
	if s.Web.SignIn == nil {
		return nil, nil
	}
	policy := permit.Policy{Actions: s.Web.Actions && s.Write, Roles: list.Convert(s.Web.Roles, func(r config.Role) permit.Role {
		return permit.Role{Groups: r.Groups, May: r.May, In: r.In}
	})}
	p := &web.People{
		Policy: policy, SignedInOnly: s.Web.Read == config.ReadSignedIn,
		Keeper: session.New(session.Options{
			URL: s.Web.URL, OIDC: s.Web.SignIn.OIDC, Proxy: s.Web.SignIn.Proxy, Keys: s.SessionKeys, Idle: s.Web.Session.Idle, Life: s.Web.Session.Life,
			FilterGroups: policy.FilterGroups, Now: o.Now, Logger: logger,
		}),
	}
	if !s.Web.Actions || !s.Write {
		return p, nil
	}
	sign, err := loop.NewSigner(s.Signing)
	if err != nil {
		return nil, err
	}
	keys := access.New(s, o.Now)
	mirrors := &repos.Mirrors{Dir: filepath.Join(s.DataDir, leverFolder), Options: func(location string) (git.RemoteOptions, error) {
		guard, err := access.GuardLocation(s, location)
		return git.RemoteOptions{Guard: guard, IsTrusted: s.NamesRepository, Timeout: s.Timeout, Credentials: keys.GitCredentials(location)}, err
	}}
	with := actions.Options{
		ControlPlane: s.ControlPlane.Repo, BaseBranch: s.ControlPlane.Branch, Map: s.Map, Next: s.NextEnvironment, Mirrors: mirrors, Prefix: s.Output.BranchPrefix,
		Committer: git.Signature{Name: s.Author.Name, Email: s.Author.Email}, Sign: sign, Now: o.Now,
	}
	with.Rendering.PublishMissing = s.MissingValues == "publish"
	p.Operator = lever.New(lever.Options{Actions: with, Policy: policy, Store: store, Metrics: m, Logger: logger, Wake: wake})
	return p, nil
}

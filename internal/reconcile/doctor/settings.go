package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/program"
	"github.com/fairlead-io/fairlead/internal/reconcile/scheduler"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

func (d *examination) checkMachine(ctx context.Context) {
	if !access.HasLocalRepository(d.config) {
		return
	}
	const what = "git"
	version, err := program.Version(ctx)
	if err != nil {
		d.addFailure(what, "install Git: repositories on this machine are reached with it", "%v", err)
		return
	}
	d.addOK(what, "version %s, for the repositories on this machine", version)
}

func (d *examination) checkSettings() {
	if !d.config.Write {
		d.addWarning("settings: write", "write: true switches it on, once this is what you want", "it is off: nothing is pushed or proposed")
	} else {
		d.addOK("settings: write", "it is on")
	}
	if d.config.Web.SignIn == nil && listensBeyondMachine(d.config.Listen) {
		d.addWarning("settings: web.signIn", "set web.signIn and web.read: signed-in, or listen on 127.0.0.1",
			"everybody who reaches %s can read the page: nobody signs in", d.config.Listen)
	}
	var hooks []string
	for _, kind := range []string{"github", "gitlab", "gitea", "flux"} {
		secrets, err := d.config.WebhookSecrets(kind)
		switch {
		case err != nil:
			d.addFailure("settings: webhooks."+kind, "write the secret where the settings say that it is", "%v", err)
		case secrets != nil:
			hooks = append(hooks, kind)
		}
	}
	const what = "settings: webhooks"
	switch {
	case hooks == nil:
	case d.config.Listen == "":
		d.addWarning(what, "set listen: HOST:PORT, or remove webhooks", "there are secrets for %s, but no webhook can arrive, because listen is off", strings.Join(hooks, ", "))
	default:
		d.addOK(what, "those of %s are taken at %s", strings.Join(hooks, ", "), d.config.Listen)
	}
}

// checkSchedulers looks for the programs of schedulers. It does not ask any scheduler: an answer would be a decision.
func checkSchedulers(d *examination) {
	for _, s := range d.config.Schedulers {
		what := "settings: scheduler " + s.Name
		if len(s.Command) == 0 {
			continue
		}
		if _, err := exec.LookPath(s.Command[0]); err != nil {
			level := Warn // the daemon may run on another machine
			if d.runs {
				level = Fail
			}
			d.addFinding(level, what, err.Error(), "install it where Fairlead runs, or correct the path in schedulers of the settings")
			continue
		}
		d.addOK(what, "%s is there", s.Command[0])
	}
}

// listensBeyondMachine reports whether other machines can reach a listen address; "" is none.
func listensBeyondMachine(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || strings.EqualFold(host, "localhost") {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.IsLoopback()
}

// checkControlPlane collects the control plane's repositories, and reports whether environments are
// known.
func (d *examination) checkControlPlane(ctx context.Context) bool {
	place := access.ReadLocation(d.config, d.config.ControlPlane.Repo)
	d.repositoryAt(place).controlPlane = true
	whole := map[string]bool{giturl.Normalize(place): true} // to be fetched
	parser := model.NewParser()
	s, err := source.Open(ctx, source.Options{
		ControlPlane: d.config.ControlPlane.Repo, BaseBranch: d.config.ControlPlane.Branch, Map: d.config.Map, Parser: parser,
		Open: func(ctx context.Context, place string) (*git.Repository, error) {
			d.repositoryAt(place)
			if !whole[giturl.Normalize(place)] {
				return nil, fmt.Errorf("%s is not fetched: %w", giturl.Redact(place), git.ErrNotFound)
			}
			return d.mirrors.Open(ctx, place)
		},
	})
	if err != nil { // reported by the repository's check
		d.addFailure("environments", "make the control plane readable first", "they are not known, and what they name is not checked")
		return false
	}
	found, problems, err := s.Environments(ctx)
	if err == nil {
		err = d.readPromotion(ctx, s)
	}
	if err != nil {
		d.addError(Fail, "environments", err)
		return false
	}
	d.addProblems("environments", problems)
	names := d.environmentNames(found)
	for _, e := range found {
		if slices.Contains(names, e.Name) {
			whole[giturl.Normalize(access.ReadLocation(d.config, e.ControlPlane.Repo))] = true
		}
	}
	for _, name := range names {
		d.checkEnvironment(ctx, s, parser, name)
	}
	return len(names) > 0
}

func (d *examination) environmentNames(found []*model.Environment) []string {
	if len(d.config.Environments) > 0 {
		return d.config.Environments
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name)
	}
	if names == nil {
		d.addWarning("environments", "an object of kind Environment in .environments/ of the base makes one", "the control plane has none")
	}
	return slices.Compact(names)
}

func (d *examination) checkEnvironment(ctx context.Context, s *source.Source, parser *model.Parser, name string) {
	what := "environment " + name
	input, problems, err := s.ReadAt(ctx, name, source.Revisions{})
	if err != nil {
		d.addError(Fail, what, err)
		return
	}
	if !slices.ContainsFunc(input.Layers, func(l model.Layer) bool { return l.Kind == model.Env }) {
		d.addProblems(what, problems)
		return
	}
	m, _ := parser.Parse(name, input.Layers...)
	for _, p := range scheduler.FindUnknown(m, d.config, false) {
		p.Warning = false
		d.addProblems(what, problem.List{p})
	}
	if len(m.GitOpsRepos) == 0 {
		d.addFailure(what, "write a GitOpsRepo onto its branch of the control plane", "it does not say where its output goes")
		return
	}
	to := m.GitOpsRepos[0]
	r := d.repositoryAt(access.ReadLocation(d.config, to.Repo))
	r.outputs = append(r.outputs, output{name, to.Branch})
	for _, c := range input.Commits { // statuses are set on commits of the control plane
		if c.Layer != "base" && c.Layer != name || c.Repo == "" {
			continue
		}
		if r := d.repositories[giturl.Normalize(access.ReadLocation(d.config, c.Repo))]; r != nil {
			r.controlPlane = true
		}
	}
}

func (d *examination) addProblems(what string, problems problem.List) {
	for _, p := range problems.Sorted() {
		if p.Warning {
			continue
		}
		d.addFailure(what, cmp.Or(p.Hint, "fairlead check says more"), "%s", p.String())
	}
}

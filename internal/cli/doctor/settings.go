package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/program"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// machine checks that Git is installed, if a repository needs it.
func (d *doctor) machine(ctx context.Context) {
	if !access.HasLocalRepository(d.config) {
		return
	}
	const what = "git"
	version, err := program.Version(ctx)
	if err != nil {
		d.fail(what, "install Git: repositories on this machine are reached with it", "%v", err)
		return
	}
	d.ok(what, "version %s, for the repositories on this machine", version)
}

// settings checks the settings alone.
func (d *doctor) settings() {
	if !d.config.Write {
		d.warn("settings: write", "write: true switches it on, once this is what you want", "it is off: nothing is pushed or proposed")
	} else {
		d.ok("settings: write", "it is on")
	}
	var hooks []string
	for _, kind := range []string{"github", "gitlab", "gitea"} {
		secrets, err := d.config.WebhookSecrets(kind)
		switch {
		case err != nil:
			d.fail("settings: webhooks."+kind, "write the secret where the settings say that it is", "%v", err)
		case secrets != nil:
			hooks = append(hooks, kind)
		}
	}
	const what = "settings: webhooks"
	switch {
	case hooks == nil:
	case d.config.Listen == "":
		d.warn(what, "write listen: HOST:PORT, or take the webhooks out", "there are secrets for %s, but nothing listens, so no webhook arrives", strings.Join(hooks, ", "))
	default:
		d.ok(what, "those of %s are taken at %s", strings.Join(hooks, ", "), d.config.Listen)
	}
}

// controlPlane reads the control plane, and collects the repositories that it names.
func (d *doctor) controlPlane(ctx context.Context) {
	place := access.ReadLocation(d.config, d.config.ControlPlane.Repo)
	d.at(place).controlPlane = true
	whole := map[string]bool{giturl.Normalize(place): true} // those that are fetched
	parser := model.NewParser()
	s, err := source.Open(ctx, source.Options{
		ControlPlane: d.config.ControlPlane.Repo, BaseBranch: d.config.ControlPlane.Branch, Map: d.config.Map, Parser: parser,
		Open: func(ctx context.Context, place string) (*git.Repository, error) {
			d.at(place)
			if !whole[giturl.Normalize(place)] {
				return nil, fmt.Errorf("%s is not fetched: %w", giturl.Redact(place), git.ErrNotFound)
			}
			remote, err := d.remote(place)
			if err != nil {
				return nil, err
			}
			_, err = remote.Sync(ctx)
			return remote.Mirror(), err
		},
	})
	if err != nil { // the check of the repository reports why
		d.fail("environments", "make the control plane readable first", "they are not known, and what they name is not checked")
		return
	}
	found, problems, err := s.Environments(ctx)
	if err != nil {
		d.failed(Fail, "environments", err)
		return
	}
	d.problems("environments", problems)
	names := d.names(found)
	for _, e := range found {
		if slices.Contains(names, e.Name) {
			whole[giturl.Normalize(access.ReadLocation(d.config, e.ControlPlane.Repo))] = true
		}
	}
	for _, name := range names {
		d.environment(ctx, s, parser, name)
	}
}

// names returns the environments that the daemon works on.
func (d *doctor) names(found []*model.Environment) []string {
	if len(d.config.Environments) > 0 {
		return d.config.Environments
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name)
	}
	if names == nil {
		d.warn("environments", "an object of kind Environment in .environments/ of the base makes one", "the control plane has none")
	}
	return slices.Compact(names)
}

// environment collects the repositories that an environment reads, and the one that its
// output goes to. It does not read workloads.
func (d *doctor) environment(ctx context.Context, s *source.Source, parser *model.Parser, name string) {
	what := "environment " + name
	input, problems, err := s.ReadAt(ctx, name, source.Revisions{})
	if err != nil {
		d.failed(Fail, what, err)
		return
	}
	if !slices.ContainsFunc(input.Layers, func(l model.Layer) bool { return l.Kind == model.Env }) {
		d.problems(what, problems)
		return
	}
	m, _ := parser.Parse(name, input.Layers...)
	if len(m.GitOpsRepos) == 0 {
		d.fail(what, "write a GitOpsRepo onto its branch of the control plane", "it does not say where its output goes")
		return
	}
	to := m.GitOpsRepos[0]
	r := d.at(access.ReadLocation(d.config, to.Repo))
	r.outputs = append(r.outputs, output{name, to.Branch})
	d.statuses(input, name)
	byURL, _, _ := d.config.AllowsOutput(to.Repo, to.Branch)
	byPlace, _, _ := d.config.AllowsOutput(r.place, to.Branch)
	if !byURL && !byPlace {
		d.fail(what, fmt.Sprintf("add {repo: %s, branches: [%s]} to output.allow, or mend the GitOpsRepo", giturl.Redact(to.Repo), to.Branch),
			"its output goes to branch %s of %s, which output.allow of the settings does not allow", to.Branch, r.shown())
		return
	}
	d.ok(what, "its output goes to branch %s of %s", to.Branch, r.shown())
}

// statuses marks the repositories on whose commits the statuses of an environment are set:
// those of the control plane that it is rendered from.
func (d *doctor) statuses(input source.Input, name string) {
	for _, c := range input.Commits {
		if c.Layer != "base" && c.Layer != name || c.Repo == "" {
			continue
		}
		if r := d.repositories[giturl.Normalize(access.ReadLocation(d.config, c.Repo))]; r != nil {
			r.controlPlane = true
		}
	}
}

func (d *doctor) problems(what string, problems problem.List) {
	for _, p := range problems.Sorted() {
		if p.Warning {
			continue
		}
		hint := p.Hint
		if hint == "" {
			hint = "fairlead check says more"
		}
		d.fail(what, hint, "%s", p.String())
	}
}

package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// findRepository returns the repository of --repo, the control plane's GitOps
// repository, or the repository here.
func (p *prCommand) findRepository(ctx context.Context) (string, error) {
	named := p.repo
	if named == "" {
		output, err := p.findOutputRepository(ctx)
		if err == nil {
			err = checkLocation("the output's repository", output)
		}
		if err != nil {
			return "", err
		}
		named = output
	}
	if named != p.repo && p.settings != nil {
		named = access.ReadLocation(p.settings, named)
	}
	place, err := findRepository("--repo", named, "the GitOps repository")
	if err != nil {
		return "", err
	}
	if named != p.repo { // the control plane must not direct the token or the command anywhere
		if err := p.checkNamed(place); err != nil {
			return "", err
		}
	}
	return place, p.checkPlain(place)
}

// checkNamed rejects repositories that the control plane may not name, and decides
// whether the token is for their server. Settings have a credential per server.
func (p *prCommand) checkNamed(place string) error {
	own, err := "", error(nil)
	if p.settings != nil {
		own = access.ReadLocation(p.settings, p.settings.ControlPlane.Repo)
	} else {
		own, err = findRepository("--repo", "", "the control plane")
	}
	if err != nil {
		return err
	}
	if giturl.IsRemote(own) && !giturl.IsRemote(place) {
		return usageErrorf("name the GitOps repository with --repo", "the control plane here is on a server, and names files of this machine for its output: %s", place)
	}
	p.isTokenWithheld = giturl.HTTPServer(own) != giturl.HTTPServer(place)
	return nil
}

// openControlPlane opens the repository here, or that of the settings here.
func (p *prCommand) openControlPlane(ctx context.Context) (*source.Source, error) {
	o := source.Options{ControlPlane: ".", Parser: model.NewParser(), Credentials: p.app.readCredentials}
	src, err := source.Open(ctx, o)
	_, missing := os.Stat(defaultSettingsFile)
	if !errors.Is(err, git.ErrNotFound) || missing != nil {
		return src, err
	}
	p.settings, err = p.app.loadSettings(defaultSettingsFile, config.LoadForCommands)
	if err != nil {
		return nil, err
	}
	o.ControlPlane, o.BaseBranch, o.Map = p.settings.ControlPlane.Repo, p.settings.ControlPlane.Branch, p.settings.Map
	o.Credentials = access.New(p.settings, time.Now).GitCredentials
	src, err = source.Open(ctx, o)
	return src, withSettingsHint(err)
}

// findOutputRepository returns the single output repository of the control plane here;
// "" without a control plane.
func (p *prCommand) findOutputRepository(ctx context.Context) (string, error) {
	src, err := p.openControlPlane(ctx)
	if errors.Is(err, git.ErrNotFound) && p.settings == nil {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	environments, _, err := src.Environments(ctx)
	if errors.Is(err, git.ErrNoRevision) || len(environments) == 0 { // no base, or another repository
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var places []string
	for _, e := range environments {
		to, err := src.OutputOf(ctx, e.Name)
		if err != nil {
			return "", err
		}
		if to == nil {
			continue
		}
		if !slices.ContainsFunc(places, func(place string) bool { return giturl.Normalize(place) == giturl.Normalize(to.Repo) }) {
			places = append(places, to.Repo)
		}
	}
	switch len(places) {
	case 0:
		return "", usageErrorf("name the GitOps repository with --repo", "the control plane does not say where its output goes")
	case 1:
		return places[0], nil
	}
	var shown []string
	for _, place := range places {
		shown = append(shown, giturl.Redact(place))
	}
	return "", usageErrorf("name one with --repo", "the output of the control plane goes to %s", text.Join(shown, " and "))
}

// checkPlain rejects repositories on a forge with its own pull requests.
func (p *prCommand) checkPlain(place string) error {
	settings := p.settings
	if settings == nil {
		settings = readJob().newSettings(place)
	}
	known, err := access.LocateForge(settings, place)
	if err != nil || known.Kind == "git" { // unknown repositories may be plain Git
		return nil
	}
	return usageErrorf("fairlead pr is for repositories that are only Git", "the pull requests of %s are on its own page", giturl.Redact(place))
}

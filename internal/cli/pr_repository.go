package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// findRepository returns the path or URL of the repository of the pull requests: that of --repo, or the
// GitOps repository of the control plane here, or else the repository here.
func (p *prCommand) findRepository(ctx context.Context) (string, error) {
	named := p.repo
	if named == "" {
		output, err := findOutputRepository(ctx, p.app)
		if err == nil {
			err = checkLocation("the output's repository", output)
		}
		if err != nil {
			return "", err
		}
		named = output
	}
	place, err := findRepository("--repo", named, "the GitOps repository")
	if err != nil {
		return "", err
	}
	if named != p.repo { // the control plane names it, and may send neither the token nor us anywhere
		own, err := findRepository("--repo", "", "the control plane")
		if err != nil {
			return "", err
		}
		if giturl.IsRemote(own) && !giturl.IsRemote(place) {
			return "", usageErrorf("name the GitOps repository with --repo", "the control plane here is on a server, and names files of this machine for its output: %s", place)
		}
		p.isTokenWithheld = giturl.HTTPServer(own) != giturl.HTTPServer(place)
	}
	return place, checkPlain(place)
}

// findOutputRepository returns the repository that the environments of the control plane here write
// their output to; "" if the repository here is no control plane. It is an error if there are several.
func findOutputRepository(ctx context.Context, a *app) (string, error) {
	src, err := source.Open(ctx, source.Options{ControlPlane: ".", Parser: model.NewParser(), Credentials: a.readCredentials})
	if errors.Is(err, git.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	environments, _, err := src.Environments(ctx)
	if errors.Is(err, git.ErrNoRevision) || len(environments) == 0 { // it has no base, or is another repository
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
		return "", usageErrorf("name the GitOps repository with --repo", "the repository here is a control plane, which does not say where output goes")
	case 1:
		return places[0], nil
	}
	var shown []string
	for _, place := range places {
		shown = append(shown, giturl.Redact(place))
	}
	return "", usageErrorf("name one with --repo", "the repository here is a control plane, whose output goes to %s", text.Join(shown, " and "))
}

// checkPlain returns an error for a repository on a forge that has pull requests of its own.
func checkPlain(place string) error {
	known, err := access.LocateForge(readJob().newSettings(place), place)
	if err != nil || known.Kind == "git" { // what is not known may be Git alone
		return nil
	}
	return usageErrorf("fairlead pr is for repositories that are only Git", "the pull requests of %s are on its own page", giturl.Redact(place))
}

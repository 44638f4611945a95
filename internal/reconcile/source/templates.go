package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

const tagPrefix = "refs/tags/"

// maxTags bounds the tags that are named.
const maxTags = 8

// checkTemplates reports templates of Claudie whose commit is not in their repository: Claudie fails on
// them again and again, and neither makes nor removes machines. A repository is read if it is on a server
// that Fairlead was told of. Nothing is rendered from the templates, so that what was recorded is rendered
// again without them.
func (r *reading) checkTemplates(ctx context.Context) error {
	if r.at.Recorded || !r.hasManifests() {
		return nil
	}
	m, _ := r.source.parseInput(r.newInput()) // rendering reports its problems
	named := slices.DeleteFunc(clusters.ListTemplates(m), func(t clusters.TemplateSource) bool {
		u, err := url.Parse(t.URL)
		return err != nil || u.User != nil || !r.source.repositories.isMapped(t.URL) && !r.source.repositories.isNamed(t.URL)
	})
	return readEach(r, named, func(part *reading, t clusters.TemplateSource) error { return part.checkTemplate(ctx, t) })
}

// hasManifests reports whether a layer describes clusters.
func (r *reading) hasManifests() bool {
	return slices.ContainsFunc(r.layers, func(l model.Layer) bool {
		return r.source.options.Parser.Scan(r.newInput().parsedName(), l).HasManifests
	})
}

func (r *reading) checkTemplate(ctx context.Context, t clusters.TemplateSource) error {
	repo, err := r.source.repositories.openRepository(ctx, t.URL, false)
	switch {
	case ctx.Err() != nil || panics.Is(err):
		return errors.Join(err, ctx.Err())
	case errors.Is(err, git.ErrNotFound) && !t.Private:
		return r.reportUnopened(ctx, t.URL, &t.By, err)
	case err != nil:
		r.problems.Warnf(t.By.Pos, t.By.Subject(), "check the URL, and that this machine can reach the host",
			"the repository at %s cannot be read, so it is not checked whether it has %s", r.source.repositories.displayName(t.URL), t.Commit)
		return nil
	}
	has, err := hasRevision(repo, t.Commit)
	if err != nil || has {
		return err
	}
	r.problems.Addf(t.By.Pos, t.By.Subject(), adviseTemplate(repo), "%s is not in the repository %s: Claudie would fail, and neither make nor remove machines", t.Commit, giturl.Redact(t.URL))
	return nil
}

// hasRevision reports whether a repository has a branch or a tag of a name, or a commit in their history.
func hasRevision(repo *git.Repository, revision string) (bool, error) {
	if gitname.CheckBranch(revision) != nil {
		return false, nil
	}
	commit, err := repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return repo.IsInHistory(commit)
}

// adviseTemplate returns what to write in the place of a revision that the repository does not have.
func adviseTemplate(repo *git.Repository) string {
	if command := repo.FetchCommand(); command != "" {
		return "the clone here has only a part of the repository; fetch the rest: " + command
	}
	refs, err := repo.Refs(tagPrefix)
	if err != nil || len(refs) == 0 { // the advice can do without
		return "name a commit that the repository has"
	}
	tags := slices.Sorted(maps.Keys(refs))
	for i := range tags {
		tags[i] = strings.TrimPrefix(tags[i], tagPrefix)
	}
	if more := len(tags) - maxTags; more > 0 {
		tags = append(tags[:maxTags], fmt.Sprintf("%d more", more))
	}
	return "name a commit or a tag that it has: its tags are " + text.Join(tags, " and ")
}

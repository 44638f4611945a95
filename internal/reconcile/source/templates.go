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

// readTemplates notes the commits of the templates of Claudie, and reports those that are not in their
// repository: Claudie fails on them again and again, and neither makes nor removes machines. A repository is
// read if it is on a server that Fairlead was told of. Files are not read: what was recorded is rendered again
// with the commits that were recorded, and without the repository.
func (r *reading) readTemplates(ctx context.Context) error {
	if !r.hasManifests() {
		return nil
	}
	m, _ := r.source.parseInput(r.newInput()) // rendering reports its problems
	all := clusters.ListTemplates(m)
	if r.at.Recorded {
		for _, t := range all {
			if commit := r.at.Workloads[model.TemplatesLayer(t.URL, t.Commit)]; commit != "" {
				r.addTemplates(t, commit)
			}
		}
		r.dropTwice()
		return nil
	}
	named := slices.DeleteFunc(all, func(t clusters.TemplateSource) bool {
		u, err := url.Parse(t.URL)
		unread := err != nil || u.User != nil || !r.source.repositories.isMapped(t.URL) && !r.source.repositories.isNamed(t.URL)
		if unread {
			r.notRead = append(r.notRead, NotRead{giturl.Redact(t.URL), "templates"})
		}
		return unread
	})
	err := readEach(r, named, func(part *reading, t clusters.TemplateSource) error { return part.readTemplate(ctx, t) })
	r.dropTwice()
	return err
}

func (r *reading) addTemplates(t clusters.TemplateSource, commit string) {
	name := model.TemplatesLayer(t.URL, t.Commit)
	r.layers = append(r.layers, model.Layer{Kind: model.Files, Name: name, Commit: commit})
	r.commits = append(r.commits, Commit{Layer: name, Repo: giturl.Redact(t.URL), Commit: commit, Optional: true})
}

// dropTwice leaves one of the layers of templates that several providers name.
func (r *reading) dropTwice() {
	layers, commits := map[string]bool{}, map[string]bool{}
	isTwice := func(seen map[string]bool, name string) bool {
		known := seen[name]
		seen[name] = true
		return known && model.IsTemplatesLayer(name)
	}
	r.layers = slices.DeleteFunc(r.layers, func(l model.Layer) bool { return isTwice(layers, l.Name) })
	r.commits = slices.DeleteFunc(r.commits, func(c Commit) bool { return isTwice(commits, c.Layer) })
}

func (r *reading) hasManifests() bool {
	return slices.ContainsFunc(r.layers, func(l model.Layer) bool {
		return r.source.options.Parser.Scan(r.newInput().parsedName(), l).HasManifests
	})
}

func (r *reading) readTemplate(ctx context.Context, t clusters.TemplateSource) error {
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
	commit, err := findRevision(repo, t.Commit)
	if err != nil {
		return err
	}
	if commit != "" {
		r.addTemplates(t, commit)
		return nil
	}
	r.problems.Addf(t.By.Pos, t.By.Subject(), adviseTemplate(repo), "%s is not in the repository %s: Claudie would fail, and neither make nor remove machines", t.Commit, giturl.Redact(t.URL))
	return nil
}

// TemplateHash returns what finds the commit of a revision of templates, for locks that do not have it; "" if the
// repository is not read, or does not have it.
func (s *Source) TemplateHash(ctx context.Context) func(url, revision string) string {
	return func(url, revision string) string {
		if !s.repositories.isMapped(url) && !s.repositories.isNamed(url) {
			return ""
		}
		repo, err := s.repositories.openRepository(ctx, url, false)
		if err != nil { // what is written now is read there too, and reports it
			return ""
		}
		commit, err := findRevision(repo, revision)
		if err != nil {
			return ""
		}
		return commit
	}
}

// findRevision returns the commit of a branch or a tag of a repository, or a commit in their history; "" if it
// has none of the name.
func findRevision(repo *git.Repository, revision string) (string, error) {
	if gitname.CheckBranch(revision) != nil {
		return "", nil
	}
	commit, err := repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if has, err := repo.IsInHistory(commit); err != nil || !has {
		return "", err
	}
	return commit, nil
}

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

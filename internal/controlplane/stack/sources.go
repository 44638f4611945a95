package stack

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// HeadRef is how CloudKnit's documentation writes the head of the default branch.
const HeadRef = "HEAD"

// SourceName returns the name of the layer with the files of a repository at a ref; "" is the head of
// its default branch. It is the same however the address of the repository is written.
func SourceName(repo, ref string) string {
	name := normalizeRepository(repo)
	if ref != "" && ref != HeadRef {
		name += "@" + ref
	}
	return name
}

func normalizeRepository(location string) string {
	location, _, _ = strings.Cut(location, "?") // which may hold a token
	address, err := RepositoryURL(location)
	if err != nil {
		return location
	}
	u, err := url.Parse(address)
	if err != nil { // RepositoryURL has parsed it
		return location
	}
	return strings.ToLower(u.Host) + "/" + strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
}

// TeamLayer returns the name of the layer with the stacks in a team's own repository.
func TeamLayer(team string) string { return model.TeamLayerPrefix + team }

// FollowedTeams returns the teams of an environment whose stacks are read from their own
// repositories. A team in the base would have its stacks in all environments.
func FollowedTeams(m *model.Model) []*model.Team {
	if !slices.ContainsFunc(m.Stacks.Settings, func(s *model.StackSettings) bool { return s.Follow.Teams }) {
		return nil
	}
	var all []*model.Team
	for _, t := range m.Stacks.Teams {
		if !t.InBase && t.ConfigRepo.Source != "" && !isEnvironmentRepository(m, t.ConfigRepo.Source) {
			all = append(all, t)
		}
	}
	return all
}

// FollowsModules reports whether modules of other repositories are read; decided is false if that
// depends on where they are.
func FollowsModules(m *model.Model) (follows, decided bool) {
	for _, s := range m.Stacks.Settings {
		if s.Follow.Modules != nil {
			return *s.Follow.Modules, true
		}
	}
	return false, false
}

func isEnvironmentRepository(m *model.Model, location string) bool {
	return slices.ContainsFunc(m.Environments, func(e *model.Environment) bool {
		return e.Name == m.Environment && sameRepository(location, e.ControlPlane.Repo)
	})
}

// FindSource returns the repository and the ref of a file that a stack names in a layer: its own, or that of
// its blueprint. repo is "" if the file is in that layer.
func (s *Stack) FindSource(m *model.Model, layer, source, ref string) (repo, at string) {
	if ref == HeadRef {
		ref = ""
	}
	for _, t := range FollowedTeams(m) {
		if source == "" && layer == TeamLayer(t.TeamName.Text) {
			return t.ConfigRepo.Source, ref
		}
	}
	isOwn := s.IsOwnRepository(m, source)
	if layer == model.BaseLayer {
		isOwn = slices.ContainsFunc(m.BaseRepos, func(b *model.BaseRepo) bool { return sameRepository(source, b.Repo) })
	}
	if source == "" || isOwn {
		return "", ref
	}
	return source, ref
}

// IsOwnRepository reports whether the files of a repository are those of the stack's own layer: it
// is the repository of the environment, or the one that a Team names as that of its stacks and that
// is not read itself.
func (s *Stack) IsOwnRepository(m *model.Model, location string) bool {
	followed := FollowedTeams(m)
	if slices.ContainsFunc(followed, func(t *model.Team) bool { return s.Pos.Layer == TeamLayer(t.TeamName.Text) }) {
		return false
	}
	return isEnvironmentRepository(m, location) || slices.ContainsFunc(m.Stacks.Teams, func(t *model.Team) bool {
		return t.TeamName.Text == s.Team && sameRepository(location, t.ConfigRepo.Source) && !slices.Contains(followed, t)
	})
}

func sameRepository(a, b string) bool {
	return a != "" && normalizeRepository(a) == normalizeRepository(b)
}

func (r *resolver) warnOfBaseTeams() {
	for _, settings := range r.model.Stacks.Settings {
		for _, t := range r.model.Stacks.Teams {
			if settings.Follow.Teams && t.InBase {
				r.problems.Warnf(t.Pos, t.Subject(), "write it on the branch of one environment", "its repository is not read: its stacks would be in all environments, which would share the state of their components")
			}
		}
	}
}

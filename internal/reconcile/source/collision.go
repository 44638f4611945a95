package source

import (
	"context"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// readPlace is a folder of a branch that a part of the control plane is read from.
type readPlace struct {
	what string // "the base", "environment stage"
	ref  model.RepoRef
}

// findCollisions returns a problem if the output of a model would go where a part of the control
// plane is read from: it would be read as one, and no environment that reads it could be rendered
// any more. A folder that .sourceignore leaves out there is not read.
func (s *Source) findCollisions(ctx context.Context, m *model.Model) (problem.List, error) {
	to := m.OutputRepo()
	if to == nil || s.controlPlane == nil {
		return nil, nil
	}
	places, err := s.readPlaces(ctx, m)
	if err != nil {
		return nil, err
	}
	var problems problem.List
	for _, place := range places {
		if !strings.EqualFold(place.ref.Branch, to.Branch) || !s.isSameRepository(ctx, place.ref.Repo, to.Repo) {
			continue
		}
		read, err := s.isOutputRead(ctx, place.ref, to.Path)
		if err != nil {
			return nil, err
		}
		if read {
			problems.Addf(to.Pos, to.Subject(), "have the output go to a repository of its own, to another branch, or to a folder that "+ignoreFile+" of branch "+place.ref.Branch+" leaves out",
				"the control plane is read from branch %s of %s (%s), and the output would be read as a part of it", place.ref.Branch, giturl.Redact(to.Repo), place.what)
			break
		}
	}
	return problems, nil
}

func (s *Source) readPlaces(ctx context.Context, m *model.Model) ([]readPlace, error) {
	var places []readPlace
	if len(m.BaseRepos) == 0 {
		places = append(places, readPlace{"the base", model.RepoRef{Repo: s.options.ControlPlane, Branch: s.baseBranch()}})
	}
	for _, b := range m.BaseRepos {
		places = append(places, readPlace{"the base", b.RepoRef})
	}
	all, _, err := s.Environments(ctx)
	for _, e := range all {
		places = append(places, readPlace{"environment " + e.Name, e.ControlPlane})
	}
	return places, err
}

// isSameRepository reports whether two locations are of one repository: the same URL, or both the
// control plane's.
func (s *Source) isSameRepository(ctx context.Context, place, output string) bool {
	if giturl.Identify(place).Same(giturl.Identify(output)) {
		return true
	}
	s.repositories.mu.Lock()
	known := s.repositories.ownURLs[giturl.Normalize(output)] != nil
	s.repositories.mu.Unlock()
	if !known {
		return false
	}
	repo, err := s.repositories.openRepository(ctx, place, true)
	return err == nil && repo == s.controlPlane
}

// isOutputRead reports whether what is written into a folder of a place's branch would be read there,
// or would replace what is.
func (s *Source) isOutputRead(ctx context.Context, place model.RepoRef, folder string) (bool, error) {
	out, in := path.Clean("/" + folder)[1:], path.Clean("/" + place.Path)[1:]
	if out != "" && strings.HasPrefix(in, out+"/") { // the folder of the output is replaced as a whole
		return true, nil
	}
	if in != "" && out != in && !strings.HasPrefix(out, in+"/") {
		return false, nil
	}
	repo, err := s.repositories.openRepository(ctx, place.Repo, true)
	if err != nil {
		return false, nil // the problem of it is another one
	}
	head, err := repo.FindBranch(place.Branch)
	if err != nil || head == "" {
		return false, err
	}
	ignores, err := repo.ReadFiles(head, func(file string, _ int64) bool { return path.Base(file) == ignoreFile })
	if err != nil {
		return false, err
	}
	file := path.Join(out, "output.yaml")
	with, err := withFile(ignores, file)
	if err != nil {
		return true, nil // something else is there by that name
	}
	_, read := Filter(with).Lookup(file)
	return read, nil
}

func withFile(t tree.Tree, file string) (tree.Tree, error) {
	var b tree.Builder
	if err := b.Add(file, nil); err != nil {
		return tree.Tree{}, err
	}
	for name, e := range t.Walk() {
		if path.Base(name) != ignoreFile || e.IsDir() || name == file {
			continue
		}
		if err := b.AddEntry(name, e); err != nil {
			return tree.Tree{}, err
		}
	}
	return b.Tree(), nil
}

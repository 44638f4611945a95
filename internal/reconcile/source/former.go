package source

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
)

// maxFormer bounds how many commits of the base are looked at for environments that it had.
const maxFormer = 500

// FormerEnvironments returns the environments that the base has had and has no more, as they were written
// last, those that left last first. Only what was written in .environments is known.
func (s *Source) FormerEnvironments() ([]*model.Environment, error) {
	if s.controlPlane == nil || s.options.BaseDir != "" {
		return nil, nil
	}
	head, err := s.baseCommit(s.options.Base)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	known := s.former
	s.mu.Unlock()
	if known.head == head {
		return slices.Clone(known.found), nil
	}
	line, err := s.controlPlane.FirstParents(head, maxFormer, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	parser := model.NewParser()
	var present, former []*model.Environment
	has := func(all []*model.Environment, name string) bool {
		return slices.ContainsFunc(all, func(e *model.Environment) bool { return e.Name == name })
	}
	var last tree.ID
	for i, commit := range line {
		id, err := s.controlPlane.FolderID(commit, environmentsFolder)
		var refused *git.InvalidTreeError
		if i > 0 && errors.As(err, &refused) { // it had no environments that anything was written for
			continue
		}
		if err != nil {
			return nil, err
		}
		if i > 0 && id == last {
			continue
		}
		last = id
		found, err := git.InspectTree(s.controlPlane, commit, func(t tree.Tree) ([]*model.Environment, error) {
			return parser.Scan("", model.Layer{Kind: model.Base, Name: "main", Files: t.Sub(environmentsFolder), Prefix: environmentsFolder}).Environments, nil
		})
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			switch {
			case i == 0:
				present = append(present, e)
			case !has(present, e.Name) && !has(former, e.Name):
				former = append(former, e)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.former = formerEnvironments{head, former}
	return slices.Clone(former), nil
}

// formerEnvironments are those that a commit of the base and the ones before it had, and it
// does not have.
type formerEnvironments struct {
	head  string
	found []*model.Environment
}

// StillNamed returns those of some environments whose name a file with the environments still has:
// they are not gone, but a file cannot be read for one, with a typo in kind: or apiVersion:.
func (s *Source) StillNamed(environments ...string) ([]string, error) {
	if len(environments) == 0 {
		return nil, nil
	}
	files, err := s.baseFiles()
	if err != nil {
		return nil, err
	}
	everywhere := files.Sub(environmentsFolder).IsEmpty()
	if everywhere {
		files = Filter(files)
	} else {
		files = files.Sub(environmentsFolder)
	}
	var found []string
	for _, data := range files.All() {
		if everywhere && !bytes.Contains(data, []byte("controlPlane:")) { // many objects have a name
			continue
		}
		for line := range bytes.Lines(data) {
			line = bytes.TrimSpace(line)
			if m := writtenName.FindSubmatch(line); m != nil && slices.Contains(environments, string(m[2])) && !slices.Contains(found, string(m[2])) {
				found = append(found, string(m[2]))
			}
		}
	}
	return found, nil
}

// writtenName is a line with the name of an object; one of a list, or a comment, is none.
var writtenName = regexp.MustCompile(`^([^#-]*[\s{,"'])?["']?name["']?:\s*["']?([0-9A-Za-z.-]+)["']?\s*($|[,}#])`)

// OutputsAt returns where a commit of an environment's branch says that output goes; none if the
// commit, or its repository, is not there any more.
func (s *Source) OutputsAt(ctx context.Context, environment, repo, commit string) ([]*model.GitOpsRepo, error) {
	from, err := s.repositories.openRepository(ctx, repo, true)
	if errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrAccess) || errors.Is(err, errLocal) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files, err := from.ReadFiles(commit, isContentWanted)
	if errors.Is(err, git.ErrNoRevision) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, _ := model.NewParser().Parse(environment, model.Layer{Kind: model.Env, Name: environment, Files: files})
	return m.GitOpsRepos, nil
}

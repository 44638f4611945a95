package source

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
)

// Lanes are parts of the base, and the commits that they are read at. The zero value is none.
type Lanes struct {
	Partition lane.Partition
	Commits   map[string]string // by lane
}

// key returns a text that other lanes, or other commits of them, do not have; "" for none.
func (l Lanes) key() string {
	if len(l.Commits) == 0 {
		return ""
	}
	key := l.Partition.Key()
	for _, name := range slices.Sorted(maps.Keys(l.Commits)) {
		key += fmt.Sprintf("%s %s\n", name, l.Commits[name])
	}
	return key
}

// composeFiles returns the files of a commit, in which those of the lanes are of their commits, with the content of those that
// want accepts.
func (l Lanes) composeFiles(repo *git.Repository, commit string, want func(path string, size int64) bool) (tree.Tree, error) {
	files, err := repo.ReadFiles(commit, want)
	if err != nil || len(l.Commits) == 0 {
		return files, err
	}
	read, lanes := map[string]tree.Tree{commit: files}, map[string]tree.Tree{}
	for name, at := range l.Commits {
		t, known := read[at]
		if !known {
			t, err = repo.ReadFiles(at, want)
			if err != nil {
				return tree.Tree{}, err
			}
			read[at] = t
		}
		lanes[name] = t
	}
	return l.Partition.Compose(files, lanes)
}

// checkLanes returns the problems of the lanes of a Promotion with the files of the base.
func (s *Source) checkLanes(progress *model.Progress, files tree.Tree) (problems problem.List) {
	for _, p := range progress.Promotions {
		if p.Lanes != nil {
			problems = append(problems, s.CheckLanes(*p.Lanes, files, &p.Object)...)
		}
	}
	return problems
}

// CheckLanes returns the problems of lanes with the files of the base, and with its templates. of is the object that defines
// the lanes.
func (s *Source) CheckLanes(lanes model.Lanes, files tree.Tree, of *model.Object) problem.List {
	found := s.options.Parser.Scan("", model.Layer{Kind: model.Base, Name: "main", Files: Filter(files)})
	return lane.NewPartition(lanes).Check(files, found.Templates, of)
}

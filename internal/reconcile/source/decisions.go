package source

import (
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
)

// addDecisions adds the decisions of the environment, if there are any.
func (r *reading) addDecisions(files tree.Tree, folder string) {
	if !files.IsEmpty() {
		r.addLayer(model.Layer{Kind: model.Decisions, Name: r.env}, files, path.Join(folder, model.DecisionFolder))
	}
}

// readDecisions reads the decisions of an environment's folder, also where Flux is told to ignore them.
func (s *Source) readDecisions(repo *git.Repository, commit, folder string) (tree.Tree, error) {
	folder = path.Join(folder, model.DecisionFolder)
	return s.readOnce(commitFolder{repo: repo, commit: commit, sub: folder, kind: model.Decisions}, func() (tree.Tree, error) {
		_, written, err := repo.FindEntry(commit, folder)
		if err != nil || !written {
			return tree.Tree{}, err
		}
		all, err := repo.ReadFiles(commit, func(file string, size int64) bool {
			return strings.HasPrefix(file, folder+"/") && isContentWanted(file, size)
		})
		return all.Sub(folder), err
	})
}

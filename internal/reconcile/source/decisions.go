package source

import (
	"path"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

func (r *reading) addDecisions(files tree.Tree, folder string) {
	if !files.IsEmpty() {
		r.addLayer(model.Layer{Kind: model.Decisions, Name: r.env}, files, path.Join(folder, model.DecisionFolder))
	}
}

func (s *Source) readOwnFolder(repo *git.Repository, commit, folder, own string, kind model.LayerKind) (tree.Tree, error) {
	folder = path.Join(folder, own)
	return s.readOnce(commitFolder{repo: repo, commit: commit, sub: folder, kind: kind, promotion: true}, func() (tree.Tree, error) {
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

// maxPlaced bounds the commits, and the versions of a decision, that [PlacedSince] looks at.
const maxPlaced = 1000

// PlacedSince returns what finds the commit since which the decision in a file of a branch has a unit on a cluster type
// without a break, along first parents; the oldest that it looked at if it is older, and "" if it cannot be read. It is nil
// for a folder, which has no history.
func PlacedSince(b Branch) func(at problem.Pos, policy, unit, clusterType string) (commit string, since time.Time) {
	if b.Repo == nil {
		return nil
	}
	return func(at problem.Pos, policy, unit, clusterType string) (string, time.Time) {
		commit := b.Head
		for versions := 0; ; versions++ {
			changed, err := b.Repo.LastChangedBy(commit, at.File, maxPlaced)
			if err != nil {
				return "", time.Time{}
			}
			if len(changed.Parents) == 0 || versions == maxPlaced {
				return changed.ID, changed.When
			}
			e, _, err := b.Repo.FindEntry(changed.Parents[0], at.File)
			if err != nil || !decides(e.Data, policy, unit, clusterType) {
				return changed.ID, changed.When
			}
			commit = changed.Parents[0]
		}
	}
}

// ChangedLast returns what finds the commit that changed a file of a branch last, and its author; the oldest that it looked
// at if that is older, and "" if it cannot be read. It is nil for a folder, which has no history.
func ChangedLast(b Branch) func(file string) (commit, author string, at time.Time) {
	if b.Repo == nil {
		return nil
	}
	return func(file string) (string, string, time.Time) {
		changed, err := b.Repo.LastChangedBy(b.Head, file, maxPlaced)
		if err != nil {
			return "", "", time.Time{}
		}
		return changed.ID, changed.Author.Name, changed.When
	}
}

func decides(file []byte, policy, unit, clusterType string) bool {
	documents, err := yamldoc.Parse(file)
	if err != nil {
		return false
	}
	for _, d := range documents {
		root := yamldoc.RootOf(d)
		types := yamldoc.FindValue(root, "spec", "units", unit)
		if types != nil && yamldoc.FindText(root, "kind") == model.DecisionKind && yamldoc.FindText(root, "metadata", "name") == policy {
			return slices.ContainsFunc(types.Content, func(n *yaml.Node) bool { return n.Value == clusterType })
		}
	}
	return false
}

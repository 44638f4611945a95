package publish

import (
	"fmt"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// FindIntact returns the clusters of the nearest commit whose output is as recorded, ignoring later
// edits. It returns zero if that is the head or too old, or if neither head nor record has
// clusters. wanted searches anyway, because everything may have been deleted.
func FindIntact(records *Records, repo *git.Repository, head, folder, environment string, wanted bool) (clusterfiles.Intact, error) {
	folder = CleanFolder(folder)
	hadClusters, err := git.InspectTree(repo, head, func(t tree.Tree) (bool, error) {
		return clusterfiles.HasClusters(t.Sub(folder)) || records.ownsClusters(t.Sub(folder)), nil
	})
	if err != nil || !hadClusters && !wanted {
		return clusterfiles.Intact{}, err
	}
	intact := ""
	_, err = searchCommits(repo, []string{head}, func(c git.CommitInfo, _ int) (found, last bool, err error) {
		found, err = git.InspectTree(repo, c.ID, func(t tree.Tree) (bool, error) { return records.IsIntact(t.Sub(folder), environment), nil })
		if found {
			intact = c.ID
		}
		return found, false, err
	})
	if err != nil {
		return clusterfiles.Intact{}, fmt.Errorf("find the last output that nobody edited: %w", err)
	}
	if intact == "" || intact == head {
		return clusterfiles.Intact{}, nil
	}
	files, err := git.InspectTree(repo, intact, func(t tree.Tree) (tree.Tree, error) {
		var b tree.Builder
		for file, entry := range t.Sub(path.Join(folder, clusterfiles.Folder)).Walk() {
			if err := b.AddEntry(path.Join(clusterfiles.Folder, file), entry); err != nil {
				return tree.Tree{}, err
			}
		}
		return b.Tree(), nil
	})
	if err != nil {
		return clusterfiles.Intact{}, fmt.Errorf("read the last output that nobody edited: %w", err)
	}
	return clusterfiles.Intact{Tree: files, Commit: intact}, nil
}

func (m *Records) ownsClusters(folder tree.Tree) bool {
	r, err := m.ReadIn(folder)
	return err != nil || slices.ContainsFunc(r.Environments, func(w Written) bool { return slices.Contains(w.Folders, clusterfiles.Folder) })
}

// IsIntact reports whether a folder is as its record says. It ignores what the record does not
// name.
func (m *Records) IsIntact(folder tree.Tree, environment string) bool {
	r, err := m.ReadIn(folder)
	return err == nil && slices.ContainsFunc(r.Environments, func(w Written) bool {
		if w.Folders == nil { // written as a whole
			w.Folders = list.Convert(folder.Entries(), func(e tree.Entry) string { return e.Name })
		}
		return w.Environment == environment && w.IsIn(folder)
	})
}

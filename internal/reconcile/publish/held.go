package publish

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// IsIn reports whether a folder holds what was written: all that was rendered is there, and
// nothing else is in the folders that are ours.
func (w Written) IsIn(folder tree.Tree) bool {
	ours := make(map[string]bool, len(w.Folders))
	for _, name := range w.Folders {
		ours[name] = true
	}
	held := removeEntries(output.OwnedTree(folder), func(e tree.Entry) bool { return !isDot(e.Name) && !ours[e.Name] })
	// Without a promoted commit there is no file that tells it, but one of Kalypso's may be left.
	return held.ID().String() == w.Tree || withoutDotFolders(held).ID().String() == w.Tree
}

// HoldsContent reports whether a folder holds the folders of cluster types of a rendered tree, and
// nothing else in those that are ours: writing that tree changes no file that a cluster reads.
func (w Written) HoldsContent(folder, rendered tree.Tree) bool {
	w.Tree = withoutDotFolders(rendered).ID().String()
	return w.IsIn(folder)
}

// EqualContent reports whether two rendered trees are the same but for the commit that they name.
func EqualContent(a, b tree.Tree) bool {
	return tree.Equal(withoutDotFolders(a), withoutDotFolders(b))
}

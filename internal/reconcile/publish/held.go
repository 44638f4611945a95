package publish

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// IsIn reports whether a folder holds exactly what was written in our folders.
func (w Written) IsIn(folder tree.Tree) bool {
	ours := make(map[string]bool, len(w.Folders))
	for _, name := range w.Folders {
		ours[name] = true
	}
	held := removeEntries(output.OwnedTree(folder), func(e tree.Entry) bool { return !isDot(e.Name) && !ours[e.Name] })
	// Without a promoted commit, a tracking file of Kalypso may remain.
	return held.ID().String() == w.Tree || withoutDotFolders(held).ID().String() == w.Tree
}

// HoldsContent reports whether our folders equal a rendered tree's, so that writing it affects no
// cluster.
func (w Written) HoldsContent(folder, rendered tree.Tree) bool {
	w.Tree = withoutDotFolders(rendered).ID().String()
	return w.IsIn(folder)
}

// EqualContent ignores the promoted commit.
func EqualContent(a, b tree.Tree) bool {
	return tree.Equal(withoutDotFolders(a), withoutDotFolders(b))
}

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

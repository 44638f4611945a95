package tfobject

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Pin is the commit of a GitRepository. It has no parents, a fixed author and time, and
// only the root module. Its id is therefore known before anything is written, and other
// components do not change it.
type Pin struct {
	Folder  string // of the root module
	Tree    tree.Tree
	Message string
}

// The author of all pins, whose commits are from the beginning of 1970.
const (
	PinAuthor = "Fairlead"
	PinEmail  = "fairlead@localhost"
)

// NewPin returns the pin of the root module in a folder.
func NewPin(folder string, module tree.Tree) (Pin, error) {
	var b tree.Builder
	err := b.AddEntry(folder, tree.Dir("", module))
	return Pin{Folder: folder, Tree: b.Tree(), Message: fmt.Sprintf("Root module %s\n", folder)}, err
}

// ID returns the id of the commit.
func (p Pin) ID() tree.ID {
	who := fmt.Sprintf("%s <%s> 0 +0000", PinAuthor, PinEmail)
	return tree.HashCommit(fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %s\n\n%s", p.Tree.ID(), who, who, p.Message))
}

package stackfiles

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// Pin is the commit that a component's GitRepository is pinned to. It has no parents, a fixed
// author and a fixed time, and holds the root module and nothing else: its id is a function of the
// root module, so that rendering knows it before anything is written, and a change of another
// component does not move it.
type Pin struct {
	Tree    tree.Tree
	Message string
}

// The author of all pins, who commits them at the beginning of 1970.
const (
	PinAuthor = "Fairlead"
	PinEmail  = "fairlead@localhost"
)

func newPin(c *stack.Component, module tree.Tree) (Pin, error) {
	var b tree.Builder
	err := b.AddEntry(rootmodule.Folder(c), tree.Dir("", module))
	return Pin{Tree: b.Tree(), Message: fmt.Sprintf("%s/%s: root module\n", c.Stack.Path(), c.Name)}, err
}

// ID returns the id of the commit.
func (p Pin) ID() tree.ID {
	who := fmt.Sprintf("%s <%s> 0 +0000", PinAuthor, PinEmail)
	return tree.HashCommit(fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %s\n\n%s", p.Tree.ID(), who, who, p.Message))
}

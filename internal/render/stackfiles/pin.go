package stackfiles

import (
	"fmt"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// Pin is the commit that a component's GitRepository is pinned to. It has no parents, a fixed
// author and a fixed time, and holds the root module and nothing else: its id is a function of the
// root module, so that rendering knows it before anything is written, and a change of another
// component does not move it.
type Pin struct {
	Folder  string // of the root module
	Tree    tree.Tree
	Message string
}

// The author of all pins, who commits them at the beginning of 1970.
const (
	PinAuthor = "Fairlead"
	PinEmail  = "fairlead@localhost"
)

// newPin returns the pin of the root module in a folder.
func newPin(folder string, module tree.Tree) (Pin, error) {
	var b tree.Builder
	err := b.AddEntry(folder, tree.Dir("", module))
	return Pin{Folder: folder, Tree: b.Tree(), Message: fmt.Sprintf("Root module %s\n", folder)}, err
}

// ID returns the id of the commit.
func (p Pin) ID() tree.ID {
	who := fmt.Sprintf("%s <%s> 0 +0000", PinAuthor, PinEmail)
	return tree.HashCommit(fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %s\n\n%s", p.Tree.ID(), who, who, p.Message))
}

// Modules is what the branch of root modules has to lead to.
type Modules struct {
	Branch string
	Pins   []Pin // sorted by folder
}

// Tree returns the tree of all root modules.
func (m *Modules) Tree() (tree.Tree, error) {
	all := make([]tree.Tree, len(m.Pins))
	for i, p := range m.Pins {
		all[i] = p.Tree
	}
	return tree.Union(all...)
}

// FindModules returns what the rendered output of a model is pinned to; nil if it has no stacks.
func FindModules(m *model.Model, rendered tree.Tree) (*Modules, error) {
	if m == nil || len(m.Stacks.List) == 0 {
		return nil, nil
	}
	settings, _ := stack.ResolveSettings(m) // its problems are those of rendering
	all := &Modules{Branch: settings.Modules.Branch}
	err := all.addPins(ModulesFolder, rendered.Sub(ModulesFolder), ModuleDepth)
	return all, err
}

// ModuleDepth is how far root modules are below ModulesFolder: a folder each for the team, the
// stack and the component, and terraform.
const ModuleDepth = 4

// addPins adds the root modules that are so far below a folder.
func (m *Modules) addPins(folder string, t tree.Tree, depth int) error {
	if depth == 0 {
		pin, err := newPin(folder, t)
		m.Pins = append(m.Pins, pin)
		return err
	}
	for _, e := range t.Entries() {
		if err := m.addPins(path.Join(folder, e.Name), e.Tree(), depth-1); err != nil {
			return err
		}
	}
	return nil
}

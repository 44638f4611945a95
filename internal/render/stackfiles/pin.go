package stackfiles

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// Pin is the commit that a component's GitRepository is pinned to.
type Pin = tfobject.Pin

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

func (m *Modules) addPins(folder string, t tree.Tree, depth int) error {
	if depth == 0 {
		pin, err := tfobject.NewPin(folder, t)
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

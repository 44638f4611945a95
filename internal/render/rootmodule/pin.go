package rootmodule

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/edit"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// UnversionedModule is a module in a Git repository that a component names without its version.
type UnversionedModule struct {
	Component string
	Repo      string
	Ref       string // a branch, or a tag that moves; "" for the head of the default branch
	Line      int    // where the version is to be written

	module *model.StackModule
}

// ListUnversioned returns the modules that components name without versions, and sentences about others outside of Git,
// without full stops.
func ListUnversioned(components []*model.StackComponent) (found []UnversionedModule, others []string) {
	for _, c := range components {
		m := c.Module
		if m == nil || IsVersioned(m) {
			continue
		}
		if _, local := m.LocalFolder(); local {
			continue
		}
		g := &generator{component: &stack.Component{StackComponent: c, Stack: &stack.Stack{Stack: &model.Stack{}}}}
		git, ok := g.resolveRepository(m)
		if !ok || g.problems.Stops() {
			others = append(others, fmt.Sprintf("the module of %s is in no Git repository: write its version by hand", c.Name.Text))
			continue
		}
		u := UnversionedModule{c.Name.Text, git.repo, git.ref, m.Source.Line, m}
		if m.Version.Text != "" {
			u.Line = m.Version.Line
		}
		found = append(found, u)
	}
	return found, others
}

// Pin returns the value of the stack that names the module at a commit or a tag.
func (u UnversionedModule) Pin(version string) edit.Setting {
	field, value := "source", strings.TrimSpace(u.module.Source.Text)
	switch {
	case u.module.Version.Text != "":
		field, value = "version", version
	case value == "aws":
		value = withCommit(fmt.Sprintf(publicModules, u.module.Name), version)
	default:
		value = withCommit(value, version)
	}
	return edit.Setting{Path: fmt.Sprintf("components[%s].module.%s", u.Component, field), Value: value}
}

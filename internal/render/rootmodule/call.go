package rootmodule

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// CalledModule is a module that a root module calls.
type CalledModule struct {
	// Source is how Terraform finds it: at the commit that it was read at, if it was read.
	Source string
	// Fixed reports whether it is the same module whenever Terraform runs, and Pinned whether Source names
	// the commit that it was read at.
	Fixed, Pinned bool

	found *moduleInterface // nil if it was not read
}

// FindModule returns the module of a source that is read with Git. An error says why its variables are
// not known, though its files were read.
func FindModule(m *model.Model, source string) (CalledModule, error) {
	module := CalledModule{Source: source, Fixed: IsVersioned(&model.StackModule{Source: model.Text{Text: source}})}
	layer, folder := findModuleLayer(m, source)
	if layer == nil {
		return module, nil
	}
	module.Source, module.Fixed, module.Pinned = withCommit(source, layer.Commit), true, true
	found, err := readInterface(layer.Files.Sub(folder))
	if err == nil {
		module.found = &found
	}
	return module, err
}

// IsRead reports whether the variables and outputs of the module are known.
func (m CalledModule) IsRead() bool { return m.found != nil }

// Variables returns the names of the variables, sorted, and whether each has a default.
func (m CalledModule) Variables() (names []string, hasDefault func(name string) bool) {
	return slices.Sorted(maps.Keys(m.found.variables)), func(name string) bool { return m.found.variables[name].hasDefault }
}

// HasVariable reports whether the module has a variable.
func (m CalledModule) HasVariable(name string) bool {
	_, known := m.found.variables[name]
	return known
}

// Kind returns the type of a variable as a sentence names it; "" if it is not known.
func (m CalledModule) Kind(name string) string { return m.found.variables[name].kind }

// Takes reports whether a value can be that of a variable, as far as its type is known.
func (m CalledModule) Takes(name string, value cty.Value) bool {
	return m.found.variables[name].takes(value)
}

// Outputs returns the names of the outputs, sorted.
func (m CalledModule) Outputs() []string { return slices.Sorted(maps.Keys(m.found.outputs)) }

// IsReserved reports whether a name is an argument of a module block that is no variable of the module.
func IsReserved(name string) bool { return slices.Contains(reserved, name) }

// HintNames returns a hint for a name that is none of a module's variables or outputs.
func HintNames(name string, names []string, what string) string { return hintNames(name, names, what) }

// GitModule returns the repository that is read for the module of a source; false if it is not read
// with Git.
func GitModule(source string, by model.Object) (Repository, bool) {
	git, ok := parseGitAddress(source)
	return Repository{URL: git.repo, Ref: git.ref, Modules: []string{git.folder}, By: by}, ok
}

// GitSource returns the source of a module in a folder of a repository, as Terraform takes it.
func GitSource(repo, folder, ref string) (string, error) {
	address, err := fetchAddress(repo)
	if err != nil {
		return "", err
	}
	source := withFolder(address, folder)
	if ref != "" {
		source += "?ref=" + ref
	}
	return source, nil
}

// Package templates holds the built-in templates that a cluster type may name: reconcilers,
// namespaces and formats of platform values. docs/reference/templates.md lists them.
//
// What the package keeps true: each file is one Kalypso Template, named as the file
// is, whose head describes what it makes and which manifests keys it reads; text from
// outside is quoted, so that it cannot change the structure of what is made; a
// missing key that is required fails with a sentence that names it.
package templates

import (
	"embed"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

//go:embed *.yaml
var files embed.FS

// Files returns the built-in templates, for a layer of kind model.BuiltIn.
func Files() tree.Tree {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("templates: " + err.Error())
	}
	var list []tree.Entry
	for _, e := range entries {
		data, err := files.ReadFile(e.Name())
		if err != nil {
			panic("templates: " + err.Error())
		}
		list = append(list, tree.File(e.Name(), data))
	}
	return tree.FromEntries(list)
}

// Package agent holds the manifests of the agent on a cluster: a kustomization, which is installed as
// it is, or rendered by "fairlead cluster connect".
//
// What the package keeps true: the files beside it are all that there is to the agent, and no key is in
// them.
package agent

import (
	"embed"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

//go:embed *.yaml
var files embed.FS

// Files returns the files of the kustomization.
func Files() (tree.Tree, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return tree.Tree{}, fmt.Errorf("list the manifests of the agent: %w", err)
	}
	var list []tree.Entry
	for _, e := range entries {
		data, err := files.ReadFile(e.Name())
		if err != nil {
			return tree.Tree{}, fmt.Errorf("read the manifests of the agent: %w", err)
		}
		list = append(list, tree.File(e.Name(), data))
	}
	return tree.FromEntries(list), nil
}

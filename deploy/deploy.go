// Package deploy holds what Fairlead is installed with, for "fairlead install" and "fairlead cluster connect":
// the kustomizations of the daemon and of the agent, and their Helm charts.
//
// What the package keeps true: the files are those that a release publishes, and no key is in them. Tests render the
// charts with Helm's engine and compare the objects with those of the kustomizations.
package deploy

import (
	"embed"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

//go:embed kubernetes/*.yaml agent/*.yaml all:charts
var files embed.FS

// Daemon returns the kustomization of the daemon.
func Daemon() (tree.Tree, error) { return readFolder("kubernetes") }

// Agent returns the kustomization of the agent on a cluster.
func Agent() (tree.Tree, error) { return readFolder("agent") }

// Chart returns a Helm chart: "fairlead" or "fairlead-agent".
func Chart(name string) (tree.Tree, error) { return readFolder("charts/" + name) }

func readFolder(dir string) (tree.Tree, error) {
	var b tree.Builder
	if err := addFolder(&b, dir, ""); err != nil {
		return tree.Tree{}, fmt.Errorf("read what Fairlead is installed with: %w", err)
	}
	return b.Tree(), nil
}

func addFolder(b *tree.Builder, dir, prefix string) error {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			err = addFolder(b, dir+"/"+e.Name(), prefix+e.Name()+"/")
		} else {
			var data []byte
			data, err = files.ReadFile(dir + "/" + e.Name())
			if err == nil {
				err = b.Add(prefix+e.Name(), data)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package impact_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
)

// TestProvisionedFolder: the folder of the clusters that an environment provisions is no cluster type, and
// what is in it is no assignment. A cluster type has the name where nothing is provisioned.
func TestProvisionedFolder(t *testing.T) {
	output := func(files ...string) tree.Tree {
		var b tree.Builder
		for _, f := range files {
			if err := b.Add(f, []byte("text\n")); err != nil {
				t.Fatal(err)
			}
		}
		return b.Tree()
	}
	tests := []struct {
		name        string
		old, new    tree.Tree
		types, gone int
	}{
		{"provisioned", output("large/README.md"), output("large/README.md", "clusters/claudie/fleet-edge/flux.yaml", "clusters/kustomization.yaml"), 0, 0},
		{"no longer", output("large/README.md", "clusters/claudie/fleet-edge/flux.yaml"), output("large/README.md"), 0, 0},
		{"a cluster type", output("large/README.md"), output("large/README.md", "clusters/shop/reconciler.yaml"), 1, 0},
		{"a cluster type goes", output("large/README.md", "clusters/shop/reconciler.yaml"), output("large/README.md"), 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report := impact.Compare(test.old, test.new, impact.Options{})
			removals := impact.RemovalsOf(test.old, test.new, report, impact.Options{})
			if report.ClusterTypes != test.types || removals.Assignments.Removed != test.gone {
				t.Errorf("%d cluster types, %d assignments are removed", report.ClusterTypes, removals.Assignments.Removed)
			}
		})
	}
}

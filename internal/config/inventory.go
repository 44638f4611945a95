package config

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/gitname"
	"github.com/fairlead-io/fairlead/internal/controlplane/inventory"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const defaultInventoryEvery = 10 * time.Minute

// Inventory is what the ClusterList of an environment follows: objects of an API server, or files in Git; or what the
// Placements have decided that its policies follow.
type Inventory struct {
	Environment string `yaml:"environment" required:"environment: prod"`
	// Kind is one of [inventory.SourceKinds], or PlacementDecision.
	Kind string `yaml:"kind"`
	// Kubeconfig is an absolute path; "" for the cluster that Fairlead is a pod of.
	Kubeconfig string `yaml:"kubeconfig"`
	Context    string `yaml:"context"`
	Namespace  string `yaml:"namespace"` // "" for all
	// Folder is below that of the environment, on its branch; "" for an API server.
	Folder string `yaml:"folder"`
	// Every bounds how often an API server is read.
	Every time.Duration `yaml:"every"`
}

func checkInventories(c *checker, all []Inventory) {
	for i := range all {
		n, path := &all[i], fmt.Sprintf("inventories[%d]", i)
		if c.isGiven(path + ".environment") {
			c.checkBranch(path+".environment", n.Environment)
		}
		if !c.isGiven(path + ".kind") {
			n.Kind = inventory.Sources[0].Kind
		}
		c.checkOneOf(path+".kind", n.Kind, append(inventory.SourceKinds(), model.PlacementDecisionKind)...)
		if !c.isGiven(path + ".every") {
			n.Every = defaultInventoryEvery
		}
		c.checkLeast(path+".every", n.Every)
		if n.Kubeconfig != "" && !filepath.IsAbs(n.Kubeconfig) {
			c.addProblem(path+".kubeconfig", "write the whole path of the file", "%s is not an absolute path", n.Kubeconfig)
		}
		if n.Folder == "" {
			continue
		}
		if n.Kind == model.PlacementDecisionKind {
			c.addProblem(path+".folder", "commit them below "+model.DecisionFolder, "PlacementDecisions in files need no inventory")
		}
		if err := gitname.CheckFolder(n.Folder); err != nil {
			c.addProblem(path+".folder", "write a folder of the environment, as in inventory", "%v", err)
		}
		if n.Kubeconfig+n.Context+n.Namespace != "" {
			c.addProblem(path+".folder", "remove it, or kubeconfig, context and namespace", "an inventory is in a folder or on an API server")
		}
	}
}

package clusterfiles

import (
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// checkProtected reports removed clusters that Flux keeps. The annotation on the
// existing Cluster decides, not the one in the removing commit, so the cluster would
// continue without a description.
func checkProtected(m *model.Model, current *provision.State, previous tree.Tree) problem.List {
	manifest := findWritten(m, current)
	if manifest == nil || current.Executor != clusters.CAPI {
		return nil
	}
	if manifest.Annotations[model.DecommissionAnnotation] != "true" {
		return nil // the removal is reported elsewhere
	}
	var problems problem.List
	for _, c := range current.Spec.Kubernetes.Clusters {
		if protected, _ := isProtected(previous, c.Name); !protected || manifest.Spec.FindCluster(c.Name) != nil {
			continue
		}
		problems.Addf(manifest.PositionOf("kubernetes", "clusters"), manifest.Subject(), "two commits: bring it back with the annotation, and remove it when that commit is on the management cluster",
			"cluster %s is removed in the commit that sets %s: Flux would leave it as it is, without a file that describes it", c.Name, model.DecommissionAnnotation)
	}
	return problems
}

func isProtected(files tree.Tree, cluster string) (protected, there bool) {
	file, there := files.Lookup(path.Join(clustersFolder, clusterFile(cluster)))
	object, _, _ := strings.Cut(string(file.Data), "\n---\n")
	return there && strings.Contains(object, pruneAnnotation+": "+pruneDisabled), there
}

// FindReleased returns the clusters of Cluster API that Flux kept and no longer keeps:
// the next change may remove them.
func FindReleased(clusters []string, old, new tree.Tree) []string {
	var released []string
	for _, name := range clusters {
		before, _ := isProtected(old, name)
		now, there := isProtected(new, name)
		if before && there && !now {
			released = append(released, name)
		}
	}
	return released
}

func clusterFile(name string) string { return "cluster-" + name + ".yaml" }

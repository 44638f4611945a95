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

// checkProtected reports clusters of Cluster API that are removed while Flux keeps them: the annotation on
// a Cluster that is there decides, and not the one of the commit that removes it. It would go on, and
// nothing would say that it exists.
func checkProtected(m *model.Model, current *provision.State, previous tree.Tree) problem.List {
	manifest := findWritten(m, current)
	if manifest == nil || current.Executor != clusters.CAPI {
		return nil
	}
	if manifest.Annotations[model.DecommissionAnnotation] != "true" {
		return nil // that they are removed is reported
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

// isProtected reports whether Flux keeps a cluster of Cluster API that is in the files of a manifest, and
// whether it is there at all.
func isProtected(files tree.Tree, cluster string) (protected, there bool) {
	file, there := files.Lookup(path.Join(clustersFolder, clusterFile(cluster)))
	object, _, _ := strings.Cut(string(file.Data), "\n---\n")
	return there && strings.Contains(object, pruneAnnotation+": "+pruneDisabled), there
}

// FindReleased returns which of some clusters of Cluster API Flux keeps as the files of a manifest were, and no
// longer as they are now: the next change may remove them.
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

// clusterFile returns the file with the objects of a cluster.
func clusterFile(name string) string { return "cluster-" + name + ".yaml" }

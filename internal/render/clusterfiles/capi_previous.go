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
		file, there := previous.Lookup(path.Join(clustersFolder, clusterFile(c.Name)))
		cluster, _, _ := strings.Cut(string(file.Data), "\n---\n")
		if !there || manifest.Spec.FindCluster(c.Name) != nil || !strings.Contains(cluster, pruneAnnotation+": "+pruneDisabled) {
			continue
		}
		problems.Addf(manifest.PositionOf("kubernetes", "clusters"), manifest.Subject(), "two commits: bring it back with the annotation, and remove it when that commit is on the management cluster",
			"cluster %s is removed in the commit that sets %s: Flux would leave it as it is, without a file that describes it", c.Name, model.DecommissionAnnotation)
	}
	return problems
}

// clusterFile returns the file with the objects of a cluster.
func clusterFile(name string) string { return "cluster-" + name + ".yaml" }

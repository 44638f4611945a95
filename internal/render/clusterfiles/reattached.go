package clusterfiles

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// checkReattached reports clusters of Claudie that move to a Kustomization in another
// namespace, because they get or lose a clusterID. Flux would remove what the old one
// applied while the new one applies it.
func checkReattached(m *model.Model, current *provision.State, previous tree.Tree) problem.List {
	manifest := findWritten(m, current)
	if manifest == nil || current.Executor != clusters.Claudie {
		return nil
	}
	attached := map[string]string{} // namespaces of Kustomizations with a kubeconfig
	for k := range readKustomizations(previous) {
		if k.Spec.KubeConfig != nil {
			attached[k.Metadata.Name] = k.Metadata.Namespace
		}
	}
	var problems problem.List
	for _, b := range m.Clusters.Bindings {
		if !manifest.IsNamedBy(b.Spec.InputManifest) {
			continue
		}
		for k, bound := range b.Spec.Clusters {
			namespace := stack.FindClusterSource(m).Namespace
			if bound.ClusterID != "" {
				namespace = claudie.DefaultNamespace
			}
			was, there := attached[attachmentName(manifest.Namespace+"-"+manifest.Name, bound.Name)]
			consequence := path.Join("reattach", bound.Name)
			switch {
			case !there || provision.Accepts(manifest.Annotations, consequence):
			case !manifest.IsAttachable(bound):
				problems.Addf(b.PositionOf("clusters", k), b.Subject(), "write its clusterID, or another "+model.AliasAnnotation,
					"cluster %s: its cluster type is applied, and would not be while its clusterID is not known: Flux would remove all that it applied to the cluster", bound.Name)
			case was != namespace:
				problems.Addf(b.PositionOf("clusters", k), b.Subject(), "if nothing was applied to the cluster yet, "+provision.HintAccept(consequence),
					"cluster %s: what is applied from the namespace %s would be from %s: Flux would remove all that it applied to the cluster", bound.Name, was, namespace)
			}
		}
	}
	return problems
}

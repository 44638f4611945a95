package clusterfiles

import (
	"maps"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// Attached is a cluster of a manifest to which the management cluster applies the folder of a cluster
// type.
type Attached struct {
	Cluster, ClusterType string
	Object               string // "Kustomization/namespace/name", which applies it
}

// ListAttached returns the clusters that an output provisions and attaches, in the order of the folders of
// the manifests. What of it cannot be read is left out.
func ListAttached(output tree.Tree) []Attached {
	var all []Attached
	for folder, files := range listManifests(output) {
		state, err := readLock(files)
		if err != nil {
			continue
		}
		attachments := map[string]string{} // the namespaces of Kustomizations with a kubeconfig
		for k := range readKustomizations(files) {
			if k.Spec.KubeConfig != nil {
				attachments[k.Metadata.Name] = k.Metadata.Namespace
			}
		}
		for _, c := range state.Spec.Kubernetes.Clusters {
			name := attachmentName(path.Base(folder), c.Name)
			if namespace, there := attachments[name]; there && state.ClusterTypes[c.Name] != "" {
				all = append(all, Attached{c.Name, state.ClusterTypes[c.Name], "Kustomization/" + namespace + "/" + name})
			}
		}
	}
	return all
}

// FindAttachment returns how the management cluster of an environment applies the folder of its cluster type
// to a cluster; "" for the object if no ClusterBinding attaches it.
func FindAttachment(m *model.Model, cluster string) Attached {
	manifests, _ := clusters.Resolve(m)
	for _, manifest := range manifests {
		u := manifest.FindUnit(cluster)
		if u == nil || u.Binding == nil || !manifest.IsAttachable(*u.Binding) {
			continue
		}
		namespace := manifest.Namespace
		switch {
		case manifest.Executor != clusters.Claudie:
		case isCopied(manifest, u):
			namespace = stack.FindClusterSource(m).Namespace
		default:
			namespace = claudie.DefaultNamespace
		}
		return Attached{cluster, u.Binding.ClusterType, "Kustomization/" + namespace + "/" + attachmentName(manifest.Project(), cluster)}
	}
	return Attached{}
}

// attachmentName returns the name of the Kustomization that attaches a cluster of a project.
func attachmentName(project, cluster string) string {
	return stack.ShortenName("im-"+project+"-40-"+cluster, maxName)
}

// FindRebound returns which of some clusters of a manifest stay attached to a cluster type in another way:
// with other values, or by another kubeconfig. The files are those of the folder of the manifest.
func FindRebound(project string, clusters []string, old, new tree.Tree) []string {
	before, after := readAttachments(old), readAttachments(new)
	var rebound []string
	for _, cluster := range clusters {
		name := attachmentName(project, cluster)
		was, is := before[name], after[name]
		if was != nil && is != nil && was.Path == is.Path && (*was.KubeConfig != *is.KubeConfig || !maps.Equal(was.values(), is.values())) {
			rebound = append(rebound, cluster)
		}
	}
	return rebound
}

// readAttachments returns the Kustomizations that attach clusters, by name.
func readAttachments(files tree.Tree) map[string]*kustomizationSpec {
	all := map[string]*kustomizationSpec{}
	for k := range readKustomizations(files) {
		if k.Spec.KubeConfig != nil {
			all[k.Metadata.Name] = &k.Spec
		}
	}
	return all
}

// values returns what Flux substitutes.
func (s *kustomizationSpec) values() map[string]string {
	if s.PostBuild == nil {
		return nil
	}
	return s.PostBuild.Substitute
}

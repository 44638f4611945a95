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

// Attached is a cluster whose cluster type the management cluster applies.
type Attached struct {
	Cluster, ClusterType string
	Object               string // the Kustomization, as "Kustomization/namespace/name"
}

// ListAttached returns the attached clusters of an output, ordered by the folders of
// manifests. It skips unreadable files.
func ListAttached(output tree.Tree) []Attached {
	var all []Attached
	for folder, files := range listManifests(output) {
		state, err := readLock(files)
		if err != nil {
			continue
		}
		attachments := map[string]string{} // namespaces of Kustomizations with a kubeconfig
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

// FindAttachment returns the attachment of a cluster in the model; the zero Attached
// without a ClusterBinding.
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

func attachmentName(project, cluster string) string {
	return stack.ShortenName("im-"+project+"-40-"+cluster, maxName)
}

// FindRebound returns the clusters that stay attached with other values or another
// kubeconfig. The trees are the manifest's folder.
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

func readAttachments(files tree.Tree) map[string]*kustomizationSpec {
	all := map[string]*kustomizationSpec{}
	for k := range readKustomizations(files) {
		if k.Spec.KubeConfig != nil {
			all[k.Metadata.Name] = &k.Spec
		}
	}
	return all
}

func (s *kustomizationSpec) values() map[string]string {
	if s.PostBuild == nil {
		return nil
	}
	return s.PostBuild.Substitute
}

package clusterfiles

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
)

// checkObjectNames reports manifests with a common Flux object name, possible since
// namespace, manifest and cluster may contain hyphens. Flux would apply one cluster's
// folder to another.
func (r *renderer) checkObjectNames(manifests []*clusters.Manifest, files tree.Tree) {
	first := map[string]*clusters.Manifest{}
	for _, m := range manifests {
		var names []string
		for k := range readKustomizations(files.Sub(FolderOf(m))) {
			names = append(names, "Kustomization "+k.Metadata.Namespace+"/"+k.Metadata.Name)
		}
		for _, u := range m.Units {
			if name := r.kubeconfigSecret(m, u); name != "" {
				names = append(names, "Secret "+name)
			}
		}
		for _, name := range names {
			if other := first[name]; other != nil && other != m {
				r.problems.Addf(m.Pos, m.Subject(), "rename the manifest or a cluster of it", "an object of it and one of %s, at %s, would both be the %s", other.Subject(), other.Pos, name)
				break
			}
			first[name] = m
		}
	}
}

func (r *renderer) kubeconfigSecret(m *clusters.Manifest, u *clusters.Unit) string {
	switch {
	case m.Executor == clusters.Claudie && isCopied(m, u):
		return fmt.Sprintf("%s/%s", r.source.Namespace, KubeconfigName(m, u.Name))
	case m.Executor == clusters.Tofu:
		return fmt.Sprintf("%s/%s", m.Namespace, KubeconfigName(m, u.Name))
	}
	return ""
}

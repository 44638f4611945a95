package clusterfiles

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// noneFile is in the folder of clusters after the last manifest is gone.
const noneFile = "none.yaml"

// renderNone returns the folder of clusters of an output that had manifests, and has none any more. Were
// the folder gone, Flux could not build it: it would fail for ever, and remove nothing of what it applied.
func (r *renderer) renderNone() tree.Tree {
	r.addObject(path.Join(Folder, noneFile), configMap{
		APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{"clusters": "none"},
		Metadata: kubeobject.Metadata{Name: "fairlead-clusters", Namespace: r.source.Namespace},
	})
	r.addKustomization(Folder, []string{noneFile})
	return r.builder.Tree().Sub(Folder)
}

package clusterfiles

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

const noneFile = "none.yaml"

// renderNone returns the folder of clusters without any. If the folder disappeared,
// Flux could not build it and would remove nothing.
func (r *renderer) renderNone() tree.Tree {
	r.addObject(path.Join(Folder, noneFile), configMap{
		APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{"clusters": "none"},
		Metadata: kubeobject.Metadata{Name: "fairlead-clusters", Namespace: r.source.Namespace},
	})
	r.addKustomization(Folder, []string{noneFile})
	return r.builder.Tree().Sub(Folder)
}

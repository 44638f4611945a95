package clusterfiles

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// checkRelocated reports a tofu manifest with Kustomizations that move to another
// namespace: Flux deletes what the old ones applied, unless the keeping annotation is
// already on the management cluster.
func checkRelocated(m *model.Model, current *provision.State, previous tree.Tree) problem.List {
	manifest := findWritten(m, current)
	if manifest == nil || current.Executor != clusters.Tofu {
		return nil
	}
	var problems problem.List
	namespace := stack.FindClusterSource(m).Namespace
	for k := range readKustomizations(previous) {
		if k.Spec.KubeConfig != nil || !strings.Contains(k.Spec.Path, "/"+objectsFolder+"/") || k.Metadata.Namespace == namespace {
			continue
		}
		part, _ := previous.Lookup(path.Join(objectsFolder, path.Base(k.Spec.Path), "terraform.yaml"))
		isKept := k.Metadata.Annotations[pruneAnnotation] == pruneDisabled && strings.Contains(string(part.Data), pruneAnnotation+": "+pruneDisabled)
		consequence := path.Join("relocate", namespace)
		hint := "keep the namespace; or merge the output as it is first, which has Flux keep what it applied, and move it after that"
		if isKept {
			hint = "keep the namespace; or " + provision.HintAccept(consequence) + ", and delete the Kustomizations in " + k.Metadata.Namespace + " by hand after the merge: they leave what they applied"
		}
		if !isKept || !provision.Accepts(manifest.Annotations, consequence) {
			problems.Addf(manifest.Pos, manifest.Subject(), hint,
				"the Kustomizations of its clusters are in the namespace %s, and would be in %s: for Flux these are others, and the clusters would be managed twice, or destroyed", k.Metadata.Namespace, namespace)
		}
		return problems // all parts are in one namespace
	}
	return problems
}

func findWritten(m *model.Model, current *provision.State) *model.InputManifest {
	i := slices.IndexFunc(m.Clusters.Manifests, func(o *model.InputManifest) bool { return o.Path() == current.Path() })
	if i < 0 {
		return nil
	}
	return m.Clusters.Manifests[i]
}

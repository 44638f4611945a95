package stackfiles

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// noneFile is in the folder of stacks after the last one is gone.
const noneFile = "none.yaml"

type configMap struct {
	APIVersion string              `yaml:"apiVersion"`
	Kind       string              `yaml:"kind"`
	Metadata   kubeobject.Metadata `yaml:"metadata"`
	Data       map[string]string   `yaml:"data"`
}

// addNone returns an output that had stacks, and has none any more, with an object that says so. Were the
// folder gone, Flux could not build it: it would fail for ever, and remove nothing of what it applied.
func addNone(m *model.Model, output tree.Tree) (tree.Tree, error) {
	var b tree.Builder
	for file, o := range map[string]any{
		kubeobject.KustomizationFile: kubeobject.NewKustomization([]string{noneFile}),
		noneFile: configMap{
			APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{"stacks": "none"},
			Metadata: kubeobject.Metadata{Name: "fairlead-stacks", Namespace: stack.FindClusterSource(m).Namespace},
		},
	} {
		text, err := yamldoc.Encode(o)
		if err == nil {
			err = b.Add(path.Join(ObjectsFolder, file), text)
		}
		if err != nil {
			return output, err
		}
	}
	return tree.Union(output, b.Tree())
}

package clusterfiles

import (
	"fmt"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// SummarizeParts returns the parts of the manifests of an output that tofu-controller carries out. Each
// manifest is summarized as the stack that a PlanApproval names: clusters/NAMESPACE-MANIFEST.
func SummarizeParts(output tree.Tree) ([]stackfiles.Summary, error) {
	var all []stackfiles.Summary
	for _, manifest := range output.Sub(path.Join(Folder, clusters.Tofu)).Entries() {
		s := stackfiles.Summary{Stack: path.Join(Folder, manifest.Name), Components: []stackfiles.ComponentSummary{}}
		for _, e := range manifest.Tree().Sub(objectsFolder).Entries() {
			var terraform *kubeobject.Object[tfobject.Spec]
			var source *kubeobject.Object[tfobject.GitRepositorySpec]
			err := decodeInto(e.Tree(), "terraform.yaml", &terraform)
			if err == nil {
				err = decodeInto(e.Tree(), "gitrepository.yaml", &source)
			}
			if err != nil {
				return nil, fmt.Errorf("read the part %s of %s: %w", e.Name, s.Stack, err)
			}
			s.Namespace = terraform.Metadata.Namespace
			s.Components = append(s.Components, stackfiles.SummarizeTerraform(e.Name, terraform, source))
		}
		all = append(all, s)
	}
	return all, nil
}

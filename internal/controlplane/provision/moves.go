package provision

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// EnvironmentEdits is what changes in one environment. The manifests that are nowhere but in its lock
// belong to it too.
type EnvironmentEdits struct {
	Environment string
	Edits       []Edit
}

// CheckMoves reports clusters that are removed from one environment and written in another one: they would
// be destroyed and made anew. The problems are in the environment that they would move to.
func CheckMoves(all []EnvironmentEdits) map[string]problem.List {
	leaving := map[string][]string{} // manifest and cluster to environments
	for _, env := range all {
		for _, e := range env.Edits {
			want := newStateIndex(e.Desired)
			for _, c := range e.Current.Spec.Kubernetes.Clusters {
				if want.clusters[c.Name] == nil {
					key := e.Current.clusterKey(c.Name)
					leaving[key] = append(leaving[key], env.Environment)
				}
			}
		}
	}
	problems := map[string]problem.List{}
	if len(leaving) == 0 {
		return problems
	}
	for _, env := range all {
		for _, e := range env.Edits {
			now := newStateIndex(e.Current)
			for i, c := range e.Desired.Spec.Kubernetes.Clusters {
				if now.clusters[c.Name] != nil {
					continue
				}
				for _, from := range leaving[e.Desired.clusterKey(c.Name)] {
					consequence := "move-from/" + from
					if from == env.Environment || e.accepts(consequence) {
						continue
					}
					l := problems[env.Environment]
					l.Addf(e.PositionOf("kubernetes", "clusters", i), claudie.InputManifestKind+"/"+e.Desired.Name,
						fmt.Sprintf("keep it in %s, or give the new one another name; if it is to be destroyed there (%s: \"true\") and made anew here, %s", from, model.DecommissionAnnotation, acceptHint(consequence)),
						"cluster %s cannot move from environment %s to %s: it would be destroyed, and made anew", c.Name, from, env.Environment)
					problems[env.Environment] = l
				}
			}
		}
	}
	return problems
}

// clusterKey identifies a cluster over all environments.
func (s *State) clusterKey(cluster string) string { return s.Namespace + "/" + s.Name + "/" + cluster }

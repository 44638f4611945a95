package provision

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// EnvironmentClusters has the written manifests of an environment and the states in its
// output.
type EnvironmentClusters struct {
	Environment string
	Written     []*model.InputManifest
	Output      []State
}

func (e *EnvironmentClusters) hasCluster(manifest, cluster string) bool {
	for i := range e.Output {
		if s := &e.Output[i]; s.Path() == manifest && s.Spec.FindCluster(cluster) != nil {
			return true
		}
	}
	return false
}

func (e *EnvironmentClusters) writes(manifest, cluster string) bool {
	m := findManifest(e.Written, manifest)
	return m != nil && m.Spec.FindCluster(cluster) != nil
}

// Adds reports whether the environment adds a cluster, machine or DNS name.
func (e *EnvironmentClusters) Adds() bool {
	has := newHoldings(e.Output)
	for _, m := range e.Written {
		for i := range m.Spec.Kubernetes.Clusters {
			if !e.hasCluster(m.Path(), m.Spec.Kubernetes.Clusters[i].Name) {
				return true
			}
		}
		if slices.ContainsFunc(m.Spec.ListUnique(), func(u claudie.Unique) bool { return has[u.Name] == "" }) {
			return true
		}
	}
	return false
}

// CheckMoved reports clusters, machines and DNS names that were moved from other
// environments. They would be destroyed there and created here.
func (e *EnvironmentClusters) CheckMoved(others []EnvironmentClusters) problem.List {
	var problems problem.List
	for _, m := range e.Written {
		for i := range m.Spec.Kubernetes.Clusters {
			name := m.Spec.Kubernetes.Clusters[i].Name
			consequence := path.Join("move", name)
			if e.hasCluster(m.Path(), name) || Accepts(m.Annotations, consequence) {
				continue
			}
			for k := range others {
				if o := &others[k]; o.hasCluster(m.Path(), name) && !o.writes(m.Path(), name) {
					problems.Addf(m.PositionOf("kubernetes", "clusters", i), m.Subject(), "bring it back there; or, if it is to be destroyed there and made anew here, "+HintAccept(consequence),
						"cluster %s was moved here from environment %s, whose output has it: what there is would not move, but a new cluster be made", name, o.Environment)
				}
			}
		}
	}
	for k := range others {
		problems = append(problems, e.checkTakenFrom(&others[k])...)
	}
	return problems
}

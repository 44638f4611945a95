package provision

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// EnvironmentClusters is what an environment asks for, and what its output has.
type EnvironmentClusters struct {
	Environment string
	Written     []*model.InputManifest
	Output      []State
}

// hasCluster reports whether the output has a cluster of a manifest.
func (e *EnvironmentClusters) hasCluster(manifest, cluster string) bool {
	for i := range e.Output {
		if s := &e.Output[i]; s.Path() == manifest && s.Spec.FindCluster(cluster) != nil {
			return true
		}
	}
	return false
}

// writes reports whether a cluster of a manifest is written.
func (e *EnvironmentClusters) writes(manifest, cluster string) bool {
	m := findManifest(e.Written, manifest)
	return m != nil && m.Spec.FindCluster(cluster) != nil
}

// Adds reports whether the environment asks for a cluster, a machine or a DNS name that its output does not
// have.
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

// CheckMoved reports the clusters that are new in an environment, while the output of another one has them
// and nothing writes them there any more: such a cluster does not move, but is made anew, and the other one
// is destroyed. It reports machines and DNS names that move so, too.
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

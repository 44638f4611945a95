package provision

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// checkNames reports DNS names that move between load balancers: both records would
// exist at the same time.
func (g *editCheck) checkNames() {
	before := map[string]claudie.Unique{}
	for _, u := range g.Current.Spec.ListUnique() {
		before[u.Name] = u
	}
	for _, u := range g.Desired.Spec.ListUnique() {
		was, known := before[u.Name]
		if known && u.IsDNS && (was.Owner != u.Owner || was.Cluster != u.Cluster) {
			g.addf(u.Path, "another name; or two commits: remove the name from where it is, and add it after that is done",
				"%s moves from %s of cluster %s to %s of cluster %s", u, was.Owner, was.Cluster, u.Owner, u.Cluster)
		}
	}
}

// holdings maps machines and DNS names to the path of their manifest.
type holdings map[string]string

func (h holdings) add(manifest string, spec *claudie.Spec) {
	for _, u := range spec.ListUnique() {
		h[u.Name] = manifest
	}
}

func newHoldings(states []State) holdings {
	h := holdings{}
	for i := range states {
		h.add(states[i].Path(), &states[i].Spec)
	}
	return h
}

// checkTaken reports machines and DNS names that move between manifests, which change
// in no order.
func checkTaken(current []State, m *model.Model) problem.List {
	var problems problem.List
	had := holdings{}
	for i := range current {
		if findRegrouped(&current[i], m) == nil { // reported elsewhere
			had.add(current[i].Path(), &current[i].Spec)
		}
	}
	for _, manifest := range m.Clusters.Manifests {
		for _, u := range manifest.Spec.ListUnique() {
			holder := had[u.Name]
			if holder != "" && holder != manifest.Path() && !isHeldBy(findManifest(m.Clusters.Manifests, holder), u) {
				reportTaken(&problems, manifest, u, "manifest "+holder)
			}
		}
	}
	return problems
}

func isHeldBy(m *model.InputManifest, u claudie.Unique) bool {
	return m != nil && slices.ContainsFunc(m.Spec.ListUnique(), func(o claudie.Unique) bool { return o.Name == u.Name })
}

func reportTaken(problems *problem.List, m *model.InputManifest, u claudie.Unique, holder string) {
	problems.Addf(m.PositionOf(u.Path...), m.Subject(), "two commits: remove it there, and add it here after that is done",
		"%s: %s moves here from %s, which may still use it", u.Owner, u, holder)
}

// checkTakenFrom reports machines and DNS names that another environment no longer
// writes.
func (e *EnvironmentClusters) checkTakenFrom(o *EnvironmentClusters) problem.List {
	var problems problem.List
	mine, theirs := newHoldings(e.Output), newHoldings(o.Output)
	for _, manifest := range e.Written {
		for _, u := range manifest.Spec.ListUnique() {
			writes := func(m *model.InputManifest) bool { return isHeldBy(m, u) }
			if holder := theirs[u.Name]; holder != "" && mine[u.Name] == "" && !slices.ContainsFunc(o.Written, writes) {
				reportTaken(&problems, manifest, u, "manifest "+holder+" of environment "+o.Environment)
			}
		}
	}
	return problems
}

package clusters

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// owner is a manifest that has something unique, and its position.
type owner struct {
	environment string
	manifest    *model.InputManifest
	pos         problem.Pos
}

type registry struct {
	environment string
	// across limits reports to conflicts of two environments.
	across     bool
	owners     map[string]owner  // of machines, DNS names and reporting clusters
	manifests  map[string]owner  // by path of the written manifest
	management map[string]string // names of management clusters by environment; "" if unnamed
	problems   problem.List
}

func newRegistry() *registry {
	return &registry{owners: map[string]owner{}, manifests: map[string]owner{}, management: map[string]string{}}
}

func (r *resolver) checkAcross(all []*Manifest) {
	g, projects := newRegistry(), map[string]*Manifest{}
	for _, m := range all {
		first := projects[m.Project()]
		if first != nil {
			r.problems.Addf(m.Pos, m.Subject(), "rename one of them", "Claudie calls this manifest %s, and the one at %s too", m.Project(), first.Pos)
		}
		projects[m.Project()] = m
		g.addManifest(m.InputManifest)
	}
	r.problems = append(r.problems, g.problems...)
}

// ownManagement is the consequence that manifests accept if their environment has its
// own management cluster.
const ownManagement = "own-management-cluster"

// CheckEnvironments reports conflicts of environments: machines, DNS names, bound
// cluster names, and manifests with the same path on one management cluster. owns
// reports whether an environment's output has a name of [provision.State.ListOwned], so
// that it keeps it; it may be nil. Otherwise the first model keeps it. The problems are
// by environment that does not keep its part.
func CheckEnvironments(models []*model.Model, owns func(environment, name string) bool) map[string]problem.List {
	g, problems := newRegistry(), map[string]problem.List{}
	g.across = true
	for _, m := range models {
		g.management[m.Environment] = m.Stacks.ManagementCluster()
	}
	if owns != nil {
		g.addOwners(models, owns)
	}
	for _, m := range models {
		g.environment, g.problems = m.Environment, nil
		for _, manifest := range m.Clusters.Manifests {
			g.addManifest(manifest)
			g.addName(manifest)
			g.addReporters(manifest, m.Clusters.Bindings)
		}
		if len(g.problems) > 0 {
			problems[m.Environment] = g.problems
		}
	}
	return problems
}

// addName reports a manifest that an earlier environment has too: one object on a
// common management cluster, or possibly one if that is unnamed.
func (g *registry) addName(m *model.InputManifest) {
	path := m.Written().Path()
	first, twice := g.manifests[path]
	if !twice {
		g.manifests[path] = owner{g.environment, m, m.Pos}
		return
	}
	accepts := func(m *model.InputManifest) bool {
		return slices.Contains(splitWords(m.Annotations[model.AcceptAnnotation]), ownManagement)
	}
	if first.environment == g.environment || accepts(first.manifest) || accepts(m) {
		return
	}
	if management := g.management[g.environment]; management != "" && management == g.management[first.environment] {
		g.problems.Addf(m.Pos, m.Subject(), "give it another namespace or name in each environment; or name the management cluster of each in spec.managementCluster of its StackSettings",
			"environment %s has a manifest %s on the management cluster %s too: they are one object there, and the clusters of one of them would be destroyed", first.environment, path, management)
		return
	}
	g.problems.Warnf(m.Pos, m.Subject(), "give it another namespace or name in each environment; or, if each has a management cluster of its own, annotate the manifest with "+model.AcceptAnnotation+": "+ownManagement,
		"environment %s has a manifest %s too: on one management cluster they are one object, and the clusters of one of them are destroyed", first.environment, path)
}

// addOwners records the environments that keep manifests, machines and DNS names.
func (g *registry) addOwners(models []*model.Model, owns func(environment, name string) bool) {
	for _, m := range models {
		for _, manifest := range m.Clusters.Manifests {
			path := manifest.Written().Path()
			if _, kept := g.manifests[path]; !kept && owns(m.Environment, manifest.Path()) {
				g.manifests[path] = owner{m.Environment, manifest, manifest.Pos}
			}
			for _, u := range manifest.Spec.ListUnique() {
				if _, kept := g.owners[u.Name]; !kept && owns(m.Environment, u.Name) {
					g.owners[u.Name] = owner{m.Environment, manifest, manifest.PositionOf(u.Path...)}
				}
			}
			for name, b := range listBound(manifest, m.Clusters.Bindings) {
				if _, kept := g.owners[name]; !kept && owns(m.Environment, name) {
					g.owners[name] = owner{m.Environment, manifest, b.pos}
				}
			}
		}
	}
}

type boundCluster struct {
	binding *model.ClusterBinding
	pos     problem.Pos
}

// listBound returns a manifest's bound clusters by the names of
// [provision.State.ListOwned].
func listBound(m *model.InputManifest, bindings []*model.ClusterBinding) map[string]boundCluster {
	all := map[string]boundCluster{}
	for _, b := range bindings {
		if !m.IsNamedBy(b.Spec.InputManifest) {
			continue
		}
		for i, c := range b.Spec.Clusters {
			if m.Spec.FindCluster(c.Name) != nil {
				all[model.ReporterName(c.Name)] = boundCluster{b, b.PositionOf("clusters", i)}
			}
		}
	}
	return all
}

func (g *registry) addReporters(m *model.InputManifest, bindings []*model.ClusterBinding) {
	bound := listBound(m, bindings)
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		b := bound[name]
		first, twice := g.owners[name]
		if !twice {
			g.owners[name] = owner{g.environment, m, b.pos}
		} else if first.environment != g.environment {
			g.problems.Addf(b.pos, b.binding.Subject(), "name one of them otherwise, or remove one from its ClusterBinding",
				"%s of environment %s is bound too, at %s, and clusters report by their names", name, first.environment, first.pos)
		}
	}
}

func (g *registry) addManifest(m *model.InputManifest) {
	mine := map[[2]string]bool{}
	for _, u := range m.Spec.ListUnique() {
		if mine[[2]string{u.Owner, u.Name}] { // already reported
			continue
		}
		mine[[2]string{u.Owner, u.Name}] = true
		pos := m.PositionOf(u.Path...)
		first, twice := g.owners[u.Name]
		switch {
		case !twice:
			g.owners[u.Name] = owner{g.environment, m, pos}
		case !g.reports(first):
		case u.IsDNS:
			g.problems.Addf(pos, m.Subject(), "a DNS name leads to one load balancer: choose another one", "%s: %s is of %s too, at %s", u.Owner, u, g.describe(first), first.pos)
		case first.manifest.Written() != m.Written(): // reported within one manifest
			g.problems.Addf(pos, m.Subject(), "a machine is in one cluster: remove one of them", "%s: %s is in %s too, at %s", u.Owner, u, g.describe(first), first.pos)
		}
	}
}

func (g *registry) reports(o owner) bool { return (o.environment != g.environment) == g.across }

func (g *registry) describe(o owner) string {
	if o.environment != g.environment {
		return o.manifest.Subject() + " of environment " + o.environment
	}
	return o.manifest.Subject()
}

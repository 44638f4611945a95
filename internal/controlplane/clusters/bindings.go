package clusters

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// variableName matches the name of a variable that Flux substitutes.
var variableName = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// bindClusters sets the cluster types of clusters, and reports bindings of clusters or cluster types
// that do not exist.
func (r *resolver) bindClusters(all []*Manifest) {
	var manifests []string
	for _, m := range all {
		manifests = append(manifests, m.Path())
	}
	for _, b := range r.model.Clusters.Bindings {
		c := checker{resolver: r, object: &b.Composed}
		ref, path := b.Spec.InputManifest, fieldPath{"inputManifest"}
		if ref.Name == "" {
			c.addf(path, "as inputManifest: {name: fleet}", "inputManifest.name is required")
			continue
		}
		found := findManifests(all, ref.Name, ref.Namespace)
		switch {
		case len(found) == 0 && b.Pos == b.InBase: // it is for other environments
			continue
		case len(found) == 0:
			c.checkKnown("inputManifest", path, cmp.Or(ref.Namespace, "default")+"/"+ref.Name, "InputManifest", newNames(manifests))
			continue
		case len(found) > 1:
			c.addf(path, "write inputManifest.namespace", "two manifests are named %s", ref.Name)
			continue
		}
		c.bindManifest(found[0], b)
	}
}

// findManifests returns the manifests of a name; namespace is "" for any.
func findManifests(all []*Manifest, name, namespace string) []*Manifest {
	var found []*Manifest
	for _, m := range all {
		if m.Name == name && (namespace == "" || m.Namespace == namespace) {
			found = append(found, m)
		}
	}
	return found
}

// isClusterID reports whether Claudie may call a cluster so.
func isClusterID(id, cluster string) bool {
	hash, found := strings.CutPrefix(id, strings.ToLower(cluster)+"-")
	return found && clusterHash.MatchString(hash)
}

// clusterHash is what Claudie adds to the name of a cluster.
var clusterHash = regexp.MustCompile(`^[a-z0-9]{7}$`)

func (c *checker) bindManifest(m *Manifest, b *model.ClusterBinding) {
	var clusters, types []string
	for _, u := range m.Units {
		clusters = append(clusters, u.Name)
	}
	for _, t := range c.model.ClusterTypes {
		types = append(types, t.Name)
	}
	for i := range b.Spec.Clusters {
		bound, path := &b.Spec.Clusters[i], fieldPath{"clusters", i}
		what := "cluster " + bound.Name
		if bound.Name == "" || !c.checkKnown(m.Subject(), path, bound.Name, "cluster", newNames(clusters)) {
			continue
		}
		if c.requireText(what, path.child("clusterType"), bound.ClusterType) {
			c.checkKnown(what, path.child("clusterType"), bound.ClusterType, "ClusterType", newNames(types))
		}
		switch id := bound.ClusterID; {
		case id == "":
		case m.Executor != Claudie:
			c.addf(path.child("clusterID"), "remove it", "%s: the executor %s has no clusterID, which is Claudie's", what, m.Executor)
		case !isClusterID(id, bound.Name):
			c.addf(path.child("clusterID"), "kubectl get secrets --namespace claudie --selector claudie.io/cluster="+bound.Name+" shows it", "%s: clusterID cannot be %q: it is the name, a hyphen, and seven letters and digits", what, id)
		}
		for _, key := range slices.Sorted(maps.Keys(bound.Values)) {
			if !variableName.MatchString(key) {
				c.addf(path.child("values", key), "letters, digits and '_', as REGION", "%s: Flux does not substitute a variable %q", what, key)
			}
		}
		unit := m.FindUnit(bound.Name)
		if unit.Binding != nil {
			c.addf(path, "remove one of them", "%s is bound twice, to %s and to %s", what, unit.Binding.ClusterType, bound.ClusterType)
			continue
		}
		unit.Binding = bound
	}
}

package clusters

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// variableName matches a variable of Flux.
var variableName = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// preparedFolder matches an output folder that Fairlead does not change.
var preparedFolder = regexp.MustCompile(`^\.[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// bindClusters sets the cluster types of clusters, and reports unknown clusters and
// cluster types.
func (r *resolver) bindClusters(all []*Manifest) {
	var manifests []string
	for _, m := range all {
		manifests = append(manifests, m.Written().Path())
	}
	for _, m := range r.model.Clusters.Split { // also without clusters
		manifests = append(manifests, m.Path())
	}
	slices.Sort(manifests)
	manifests = slices.Compact(manifests)
	for _, b := range r.model.Clusters.Bindings {
		c := checker{resolver: r, object: &b.Composed}
		ref, path := b.Spec.InputManifest, fieldPath{"inputManifest"}
		if ref.Name == "" {
			c.addf(path, "as inputManifest: {name: fleet}", "inputManifest.name is required")
			continue
		}
		found := slices.DeleteFunc(slices.Clone(manifests), func(path string) bool {
			namespace, name, _ := strings.Cut(path, "/")
			return name != ref.Name || ref.Namespace != "" && ref.Namespace != namespace
		})
		switch {
		case len(found) == 0 && b.Pos == b.InBase: // for other environments
			continue
		case len(found) == 0:
			c.checkKnown("inputManifest", path, cmp.Or(ref.Namespace, "default")+"/"+ref.Name, "InputManifest", newNames(manifests))
			continue
		case len(found) > 1:
			c.addf(path, "write inputManifest.namespace", "two manifests are named %s", ref.Name)
			continue
		}
		c.bindManifest(found[0], unitsOf(all, found[0]), b)
	}
	r.checkReporters(all)
}

type boundUnit struct {
	*Unit
	manifest *Manifest
}

func unitsOf(all []*Manifest, path string) []boundUnit {
	var units []boundUnit
	for _, m := range all {
		if m.Written().Path() != path {
			continue
		}
		for _, u := range m.Units {
			units = append(units, boundUnit{u, m})
		}
	}
	return units
}

func isClusterID(id, cluster string) bool {
	hash, found := strings.CutPrefix(id, strings.ToLower(cluster)+"-")
	return found && clusterHash.MatchString(hash)
}

func findIDCommand(cluster string) string {
	return "kubectl get secrets --namespace claudie --selector claudie.io/cluster=" + cluster
}

// clusterHash is Claudie's suffix of a cluster id.
var clusterHash = regexp.MustCompile(`^[a-z0-9]{7}$`)

func (c *checker) checkClear(what string, path fieldPath, key, value string) {
	const hint = "put it into a Secret of the cluster type, and change it: it is in the history of the repository"
	switch {
	case stack.HasSecret(value):
		c.addf(path, hint, "%s: the value %s holds a secret in clear", what, key)
	case stack.IsSecretName(key, value):
		c.warnf(path, hint, "%s: the value %s looks like a secret in clear", what, key)
	}
}

// checkReporters reports bound clusters with equal names, since clusters report by
// name.
func (r *resolver) checkReporters(all []*Manifest) {
	first := map[string]*Manifest{}
	for _, m := range all {
		for _, u := range m.Units {
			switch other := first[u.Name]; {
			case u.Binding == nil:
			case other == nil:
				first[u.Name] = m
			default:
				r.problems.Addf(m.Written().Pos, m.Subject(), "name one of them otherwise, or remove one from its ClusterBinding", "cluster %s: %s binds a cluster of this name too, and clusters report by their names", u.Name, other.Path())
			}
		}
	}
}

func (c *checker) bindManifest(manifest string, units []boundUnit, b *model.ClusterBinding) {
	var clusters, types []string
	for _, u := range units {
		clusters = append(clusters, u.Name)
	}
	for _, t := range c.model.ClusterTypes {
		types = append(types, t.Name)
	}
	for i := range b.Spec.Clusters {
		bound, path := &b.Spec.Clusters[i], fieldPath{"clusters", i}
		what := "cluster " + bound.Name
		if bound.Name == "" || !c.checkKnown("InputManifest/"+manifest[strings.Index(manifest, "/")+1:], path, bound.Name, "cluster", newNames(clusters)) {
			continue
		}
		unit := units[slices.Index(clusters, bound.Name)]
		if c.requireText(what, path.child("clusterType"), bound.ClusterType) {
			c.checkKnown(what, path.child("clusterType"), bound.ClusterType, "ClusterType", newNames(types))
		}
		switch id := bound.ClusterID; {
		case id == "" && !unit.manifest.IsAttachable(*bound):
			c.warnf(path, "write its clusterID when Claudie has made it: "+findIDCommand(bound.Name), "%s: its cluster type is not applied yet, as its clusterID is not known", what)
		case id == "":
		case unit.manifest.Executor != Claudie:
			c.addf(path.child("clusterID"), "remove it", "%s: the executor %s has no clusterID, which is Claudie's", what, unit.manifest.Executor)
		case !isClusterID(id, bound.Name):
			c.addf(path.child("clusterID"), findIDCommand(bound.Name)+" shows it", "%s: clusterID cannot be %q: it is the name, a hyphen, and seven letters and digits", what, id)
		}
		if bound.Prepare != "" && !preparedFolder.MatchString(bound.Prepare) {
			c.addf(path.child("prepare"), "name a folder of the output whose name begins with a dot, as .flux: Fairlead changes nothing there", "%s: prepare cannot be %q", what, bound.Prepare)
		}
		for _, key := range slices.Sorted(maps.Keys(bound.Values)) {
			if !variableName.MatchString(key) {
				c.addf(path.child("values", key), "letters, digits and '_', as REGION", "%s: Flux does not substitute a variable %q", what, key)
			}
			c.checkClear(what, path.child("values", key), key, bound.Values[key])
		}
		if unit.Binding != nil {
			c.addf(path, "remove one of them", "%s is bound twice, to %s and to %s", what, unit.Binding.ClusterType, bound.ClusterType)
			continue
		}
		unit.Binding = bound
	}
}

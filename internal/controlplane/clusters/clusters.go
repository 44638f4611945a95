// Package clusters resolves the clusters that an environment provisions: what is written about them in
// Claudie's InputManifests is checked, and each cluster is put together with its load balancers and its
// cluster type.
//
// What the package keeps true:
//   - A manifest that is returned without problems is one that Claudie's admission accepts, as far as the
//     control plane can know, and every name in it is of something that exists.
//   - Manifests are checked against each other: two of them never have the same machine, DNS name or
//     project.
//   - No problem holds a value of a Secret.
package clusters

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// The executors, which carry a manifest out.
const (
	Claudie = "claudie"
	Tofu    = "tofu"
	CAPI    = "capi"
)

// Executors are all of them.
var Executors = []string{Claudie, Tofu, CAPI}

// Manifest is one manifest of an environment.
type Manifest struct {
	*model.InputManifest
	Executor string
	// Decommissioned permits that clusters of the manifest are destroyed.
	Decommissioned bool
	// Units are the clusters, in the order of the manifest.
	Units []*Unit
}

// Project returns the name that Claudie gives the manifest. It must never change: another project is
// another infrastructure.
func (m *Manifest) Project() string { return m.Namespace + "-" + m.Name }

// PlanStack returns how a PlanApproval or a PlanRequest names the manifest, in the place of a stack.
func (m *Manifest) PlanStack() string { return "clusters/" + m.Project() }

// Unit is a Kubernetes cluster with all load balancers that target it.
type Unit struct {
	*claudie.Cluster
	LoadBalancers []*claudie.LoadBalancer
	// Binding is the cluster type of the cluster; nil if none is written.
	Binding *model.BoundCluster
}

// Resolve returns the manifests of a model, sorted by namespace and name. If a problem stops the
// environment, they serve only to find more problems.
func Resolve(m *model.Model) ([]*Manifest, problem.List) {
	if m.Clusters.IsEmpty() && len(m.Clusters.Bindings) == 0 {
		return nil, nil
	}
	r := resolver{model: m, secrets: map[string]*model.Credential{}}
	for _, c := range m.Clusters.Credentials {
		r.secrets[c.Path()] = c
	}
	var all []*Manifest
	for _, written := range m.Clusters.Manifests {
		all = append(all, r.resolveManifest(written))
	}
	for _, whole := range m.Clusters.Split {
		r.resolveManifest(whole)
		if len(whole.Spec.Kubernetes.Clusters) == 0 {
			r.problems.Warnf(whole.Pos, whole.Subject(), "", "%s renders a manifest for each cluster, and there is none", model.SplitAnnotation)
		}
	}
	r.problems = append(r.problems, stack.CheckClusterSettings(m)...)
	r.checkTemplates(all)
	r.checkAcross(all)
	r.bindClusters(all)
	return all, r.problems
}

// resolver collects the problems of the manifests of a model.
type resolver struct {
	model    *model.Model
	secrets  map[string]*model.Credential
	problems problem.List
}

func (r *resolver) resolveManifest(written *model.InputManifest) *Manifest {
	m := &Manifest{InputManifest: written, Executor: cmp.Or(written.Annotations[model.ExecutorAnnotation], Claudie)}
	m.Decommissioned = written.Annotations[model.DecommissionAnnotation] == "true"
	c := checker{resolver: r, object: &written.Composed, manifest: m, spec: &written.Spec, index: newIndex(&written.Spec)}
	if written.Annotations[model.SplitAnnotation] != "true" || written.Whole != nil {
		c.checkProject()
	}
	if written.Whole == nil { // a part is sound if the whole is
		c.checkMetadata()
		c.checkProviders()
		c.checkPools()
		c.checkRoles()
		c.checkClusters()
		c.checkLoadBalancers()
	}
	for i := range m.Spec.Kubernetes.Clusters {
		cluster := &m.Spec.Kubernetes.Clusters[i]
		m.Units = append(m.Units, &Unit{Cluster: cluster, LoadBalancers: c.index.balancers[cluster.Name]})
	}
	return m
}

// WithSpec returns the manifest with another spec: its clusters are those of that spec, with the cluster
// types that they have in this one.
func (m *Manifest) WithSpec(spec claudie.Spec) *Manifest {
	written, other := *m.InputManifest, *m
	written.Spec, other.InputManifest, other.Units = spec, &written, nil
	x := newIndex(&written.Spec)
	for i := range written.Spec.Kubernetes.Clusters {
		u := &Unit{Cluster: &written.Spec.Kubernetes.Clusters[i]}
		u.LoadBalancers = x.balancers[u.Name]
		if known := m.FindUnit(u.Name); known != nil {
			u.Binding = known.Binding
		}
		other.Units = append(other.Units, u)
	}
	return &other
}

// FindUnit returns the cluster of that name; nil if there is none.
func (m *Manifest) FindUnit(cluster string) *Unit {
	i := slices.IndexFunc(m.Units, func(u *Unit) bool { return u.Name == cluster })
	if i < 0 {
		return nil
	}
	return m.Units[i]
}

// acceptable are the consequences that a manifest may accept, and whether a name follows: of a cluster, or of a
// namespace.
var acceptable = map[string]bool{
	"move": true, "shrink-control-plane": true, "destroy-workloads": true, "reattach": true, "relocate": true, ownManagement: false,
}

// checkMetadata reports what the namespace and the annotations of a manifest cannot be.
func (c *checker) checkMetadata() {
	m := c.manifest
	if !kubename.IsDNSLabel(m.Namespace) {
		c.addf(nil, nameHint, "the namespace cannot be %q", m.Namespace)
	}
	if !slices.Contains(Executors, m.Executor) {
		c.addf(nil, cmp.Or(problem.DidYouMean(m.Executor, Executors), "the executors are claudie, tofu and capi"), "the annotation %s cannot be %q", model.ExecutorAnnotation, m.Executor)
	}
	switch text := m.Annotations[model.DecommissionAnnotation]; text {
	case "", "false", "true":
	default:
		c.addf(nil, `write "true", or remove it`, "the annotation %s cannot be %q", model.DecommissionAnnotation, text)
	}
	if text := m.Annotations[model.SplitAnnotation]; text != "" && text != "true" && text != "false" {
		c.addf(nil, `write "true", or remove it`, "the annotation %s cannot be %q", model.SplitAnnotation, text)
	}
	switch alias := m.Annotations[model.AliasAnnotation]; {
	case alias == "":
	case !slices.Contains(model.Aliases, alias):
		c.addf(nil, cmp.Or(problem.DidYouMean(alias, model.Aliases), "it is externalSecret, kyverno or recordedId"), "the annotation %s cannot be %q", model.AliasAnnotation, alias)
	case m.Executor != Claudie:
		c.addf(nil, "remove it", "the annotation %s is about the Secrets of Claudie: the executor %s writes the kubeconfig where Flux reads it", model.AliasAnnotation, m.Executor)
	}
	for _, word := range splitWords(m.Annotations[model.AcceptAnnotation]) {
		consequence, of, _ := strings.Cut(word, "/")
		if names, known := acceptable[consequence]; !known || names != (of != "") {
			c.warnf(nil, cmp.Or(problem.DidYouMean(consequence, slices.Sorted(maps.Keys(acceptable))), "problems and warnings say what can be accepted"), "the annotation %s has %q, which accepts nothing", model.AcceptAnnotation, word)
		}
	}
	for _, name := range splitWords(m.Annotations[model.ExistingSecretsAnnotation]) {
		if namespace, secret, ok := strings.Cut(name, "/"); !ok || !kubename.IsDNSLabel(namespace) || kubename.Check(secret) != nil {
			c.addf(nil, "as namespace/name", "the annotation %s cannot have %q", model.ExistingSecretsAnnotation, name)
		}
	}
}

// checkProject reports a name that is too long.
func (c *checker) checkProject() {
	if project := c.manifest.Project(); len(project) > maxLabel {
		c.addf(nil, "shorten the name or the namespace", "Claudie labels Secrets with %s: the namespace and the name are %d characters long together, and %d is the limit", project, len(project), maxLabel)
	}
}

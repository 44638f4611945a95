// Package clusters resolves the clusters that an environment provisions: it checks
// Claudie's InputManifests, and joins each cluster with its load balancers and cluster
// type.
//
// A manifest without problems passes Claudie's admission, as far as the control plane
// can know, and refers only to things that exist. Two manifests never have the same
// machine, DNS name or project. Problems contain no values of Secrets.
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

// The executors, which carry out manifests.
const (
	Claudie = "claudie"
	Tofu    = "tofu"
	CAPI    = "capi"
)

// Executors has all executors.
var Executors = []string{Claudie, Tofu, CAPI}

// Manifest is one manifest of an environment.
type Manifest struct {
	*model.InputManifest
	Executor string
	// Decommissioned permits the destruction of clusters.
	Decommissioned bool
	// Units are the clusters, in the order of the manifest.
	Units []*Unit
}

// Project returns Claudie's name of the manifest. It must never change: another project
// is another infrastructure.
func (m *Manifest) Project() string { return m.Namespace + "-" + m.Name }

// PlanStack returns the name of the manifest in a PlanApproval or PlanRequest, in place
// of a stack.
func (m *Manifest) PlanStack() string { return "clusters/" + m.Project() }

// Unit is a Kubernetes cluster with all load balancers that target it.
type Unit struct {
	*claudie.Cluster
	LoadBalancers []*claudie.LoadBalancer
	// Binding is the cluster's cluster type, or nil.
	Binding *model.BoundCluster
}

// Resolve returns the manifests of a model, sorted by namespace and name. If a problem
// stops the environment, they only serve to find more problems.
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
	if written.Whole == nil { // the whole manifest is checked instead
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

// WithSpec returns the manifest with another spec. Clusters keep their cluster types.
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

// FindUnit returns the cluster with that name, or nil.
func (m *Manifest) FindUnit(cluster string) *Unit {
	i := slices.IndexFunc(m.Units, func(u *Unit) bool { return u.Name == cluster })
	if i < 0 {
		return nil
	}
	return m.Units[i]
}

// acceptable has the consequences that a manifest may accept, and whether the name of a
// cluster or namespace follows.
var acceptable = map[string]bool{
	"move": true, "shrink-control-plane": true, "destroy-workloads": true, "reattach": true, "relocate": true, ownManagement: false,
}

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

func (c *checker) checkProject() {
	if project := c.manifest.Project(); len(project) > maxLabel {
		c.addf(nil, "shorten the name or the namespace", "Claudie labels Secrets with %s: the namespace and the name are %d characters long together, and %d is the limit", project, len(project), maxLabel)
	}
}

package model

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Annotations that Fairlead reads on an InputManifest.
const (
	// ExecutorAnnotation selects what carries the manifest out: claudie, tofu or capi.
	ExecutorAnnotation = OwnGroup + "/executor"
	// DecommissionAnnotation set to "true" permits that clusters are destroyed.
	DecommissionAnnotation = OwnGroup + "/decommission"
	// VersionsAnnotation is the first and the last minor version of Kubernetes that the installed
	// Claudie takes, as "1.34-1.36".
	VersionsAnnotation = OwnGroup + "/kubernetes-versions"
	// ExistingSecretsAnnotation names Secrets, as "namespace/name", that the management cluster has
	// without the control plane.
	ExistingSecretsAnnotation = OwnGroup + "/existing-secrets"
	// AcceptAnnotation names consequences that would otherwise keep a change of clusters from being
	// merged.
	AcceptAnnotation = OwnGroup + "/accept"
	// CAPISettingsAnnotation has what Cluster API needs and a manifest has no field for, as
	// "gcp-1.project=acme-dev".
	CAPISettingsAnnotation = OwnGroup + "/capi-settings"
	// ModulesAnnotation names the ClusterModules of a manifest that tofu carries out, if there are several.
	ModulesAnnotation = OwnGroup + "/modules"
	// SplitAnnotation set to "true" has a manifest rendered as one for each of its clusters.
	SplitAnnotation = OwnGroup + "/split"
	// AliasAnnotation selects how Flux finds the kubeconfigs that Claudie writes: one of [Aliases].
	AliasAnnotation = OwnGroup + "/kubeconfig-alias"
)

// How Flux finds the kubeconfig of a cluster, whose Secret Claudie names at random: a controller copies it
// to a Secret with a name that is known, or the binding of the cluster records what Claudie calls it.
const (
	AliasExternalSecret = "externalSecret"
	AliasKyverno        = "kyverno"
	AliasRecordedID     = "recordedId"
)

// Aliases are all of them; the first one is used unless another one is written.
var Aliases = []string{AliasExternalSecret, AliasKyverno, AliasRecordedID}

// ManifestAnnotations are all that Fairlead reads on an InputManifest.
var ManifestAnnotations = []string{
	ExecutorAnnotation, DecommissionAnnotation, VersionsAnnotation, ExistingSecretsAnnotation, AcceptAnnotation, CAPISettingsAnnotation, ModulesAnnotation,
	SplitAnnotation, AliasAnnotation, BlueprintAnnotation,
}

// ClaudieKinds are the kinds of Claudie that people write, sorted.
var ClaudieKinds = []KindInfo{
	{claudie.InputManifestKind, claudie.Spec{}},
	{claudie.TemplateGitReferenceKind, claudie.TemplateSpec{}},
}

// Clusters is what a model holds of the clusters that are provisioned. Its lists are sorted by namespace
// and name. A manifest is the environment's if a part of it is on the environment's branch: what is in
// the base only is a blueprint.
type Clusters struct {
	// Manifests are those that are rendered, and Split those that are written, and rendered as one for
	// each of their clusters.
	Manifests []*InputManifest
	Split     []*InputManifest
	Templates []*TemplateGitReference
	Bindings  []*ClusterBinding
	Modules   []*ClusterModules
	// TemplateCommits are the commits that templates of Claudie are at now, by the names of their layers, as
	// far as their repositories were read.
	TemplateCommits map[string]string
	// Credentials are those of the control plane, if there is a manifest, sorted by Secret.
	Credentials []*Credential
}

// templatesSuffix ends the names of layers that have the commit of templates, and no files.
const templatesSuffix = "#templates"

// TemplatesLayer returns the name of the layer that has the commit which a name of a repository of templates
// stands for.
func TemplatesLayer(url, revision string) string {
	return strings.TrimPrefix(url, "https://") + "@" + revision + templatesSuffix
}

// IsTemplatesLayer reports whether a layer has the commit of templates.
func IsTemplatesLayer(name string) bool { return strings.HasSuffix(name, templatesSuffix) }

// addLayers notes what of layers is needed beside the objects in them.
func (m *Model) addLayers(layers []Layer) {
	m.Stacks.addLayers(layers)
	m.Clusters.addTemplateCommits(layers)
}

func (c *Clusters) addTemplateCommits(layers []Layer) {
	for _, l := range layers {
		if l.Kind != Files || !IsTemplatesLayer(l.Name) {
			continue
		}
		if c.TemplateCommits == nil {
			c.TemplateCommits = map[string]string{}
		}
		c.TemplateCommits[l.Name] = l.Commit
	}
}

// Alias returns how Flux finds the kubeconfigs of the manifest: one of [Aliases].
func (m *InputManifest) Alias() string { return cmp.Or(m.Annotations[AliasAnnotation], Aliases[0]) }

// IsAttachable reports whether the folder of its cluster type can be applied to a cluster: not, if its id is
// to be recorded, and is not known yet.
func (m *InputManifest) IsAttachable(c BoundCluster) bool {
	return m.Alias() != AliasRecordedID || c.ClusterID != ""
}

// IsEmpty reports whether no manifest is written.
func (c *Clusters) IsEmpty() bool { return len(c.Manifests)+len(c.Split) == 0 }

// InputManifest is a composed manifest of clusters. Pools, roles and providers of the base that nothing
// uses are left out.
type InputManifest struct {
	Composed
	Spec claudie.Spec
	// UnusedProviders are those that were left out.
	UnusedProviders []string
	// Whole is the manifest that is written, of which this one has a single cluster; nil if this one is
	// written.
	Whole *InputManifest
}

// TemplateGitReference is a composed reference to Claudie's templates.
type TemplateGitReference struct {
	Composed
	Spec claudie.TemplateSpec
}

// ClusterBinding says which clusters of a manifest are of which cluster type.
type ClusterBinding struct {
	Composed
	Spec ClusterBindingSpec
}

// ClusterBindingSpec is the spec of a ClusterBinding.
type ClusterBindingSpec struct {
	InputManifest claudie.Reference `yaml:"inputManifest"`
	Clusters      []BoundCluster    `yaml:"clusters"`
}

// ReporterName names a bound cluster among the names of what there is once: all of them report by their names.
func ReporterName(cluster string) string { return "cluster " + cluster }

// BoundCluster is the cluster type of one cluster, and the values that its folder is applied with.
type BoundCluster struct {
	Name        string `yaml:"name" required:"true"`
	ClusterType string `yaml:"clusterType"`
	// ClusterID is what Claudie calls the cluster, once that is known: with it, Flux reads the kubeconfig
	// that Claudie wrote, and nothing copies it.
	ClusterID string            `yaml:"clusterID"`
	Values    map[string]string `yaml:"values"`
	// Prepare is a folder of the output that people keep, which is applied to the cluster before the folder
	// of its cluster type: what that needs, as Flux.
	Prepare string `yaml:"prepare"`
}

// clusterParts is what files hold of clusters.
type clusterParts struct {
	manifests, templates, bindings, modules []*objectPart
	credentials                             []*Credential
}

func (c *clusterParts) add(o *clusterParts) {
	c.manifests = append(c.manifests, o.manifests...)
	c.templates = append(c.templates, o.templates...)
	c.bindings = append(c.bindings, o.bindings...)
	c.modules = append(c.modules, o.modules...)
	c.credentials = append(c.credentials, o.credentials...)
}

func (r *reader) readClaudieKind(n *yaml.Node, h header, d *decoder) {
	d.subject = h.kind + "/" + nameOf(n)
	c := &r.out.clusters
	switch {
	case r.layer.Kind == Workloads:
		r.ignoreObject(h, d, n, "is left out: the repository of a registration may bring Workloads and DeploymentTargets only")
	case h.apiVersion != claudie.APIVersion:
		d.addProblem(n, "", "unknown apiVersion %s; the kinds of Claudie have %s", h.apiVersion, claudie.APIVersion)
	case h.kind == claudie.InputManifestKind:
		c.manifests = append(c.manifests, readPart[claudie.Spec](r, n, h.kind, d))
	case h.kind == claudie.TemplateGitReferenceKind:
		c.templates = append(c.templates, readPart[claudie.TemplateSpec](r, n, h.kind, d))
	case problem.FindNearest(h.kind, []string{claudie.InputManifestKind, claudie.TemplateGitReferenceKind}) != "":
		d.addProblem(n, kindHint(h.kind, ClaudieKinds), "unknown kind %s in %s", h.kind, claudie.Group)
	default:
		r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
	}
}

// compose returns the clusters of an environment, and counts the manifests that are in the base only.
func (c *clusterParts) compose(all *content) Clusters {
	var clusters Clusters
	problems := &all.problems
	for _, o := range composeObjects(c.manifests, problems) {
		if !o.isOfEnvironment() {
			all.countIgnored(claudie.APIVersion+" "+o.Kind, 1)
			continue
		}
		m := &InputManifest{Composed: o, Spec: decodeNode[claudie.Spec](o.Node)}
		m.dropUnused()
		clusters.addManifest(m)
	}
	slices.SortStableFunc(clusters.Manifests, func(a, b *InputManifest) int { return strings.Compare(a.Path(), b.Path()) })
	for _, o := range composeObjects(c.templates, problems) {
		clusters.Templates = append(clusters.Templates, &TemplateGitReference{o, decodeNode[claudie.TemplateSpec](o.Node)})
	}
	for _, o := range composeObjects(c.bindings, problems) {
		clusters.Bindings = append(clusters.Bindings, &ClusterBinding{o, decodeNode[ClusterBindingSpec](o.Node)})
	}
	for _, o := range composeObjects(c.modules, problems) {
		clusters.Modules = append(clusters.Modules, &ClusterModules{o, decodeNode[ClusterModulesSpec](o.Node)})
	}
	if !clusters.IsEmpty() {
		clusters.Credentials = sortCredentials(c.credentials, problems)
	}
	return clusters
}

// dropUnused leaves out what only the base has and nothing uses: it is for other environments.
func (m *InputManifest) dropUnused() {
	if m.ofBase == nil {
		return
	}
	used := findUsed(&m.Spec)
	m.Spec.LoadBalancers.Roles = dropNamed(m, m.Spec.LoadBalancers.Roles, used.roles, "loadBalancers", "roles")
	m.Spec.NodePools.Static = dropNamed(m, m.Spec.NodePools.Static, used.pools, "nodePools", "static")
	m.Spec.NodePools.Dynamic = dropNamed(m, m.Spec.NodePools.Dynamic, used.pools, "nodePools", "dynamic")
	used.markProviders(&m.Spec)
	written := m.Spec.Providers
	m.Spec.Providers = dropNamed(m, m.Spec.Providers, used.providers, "providers")
	m.noteUnusedProviders(written)
}

func (m *InputManifest) noteUnusedProviders(written []claudie.Provider) {
	for _, p := range written {
		if m.Spec.FindProvider(p.Name) == nil {
			m.UnusedProviders = append(m.UnusedProviders, p.Name)
		}
	}
}

// usedNames are the names of the parts of a manifest that its clusters and load balancers use.
type usedNames struct{ roles, pools, providers map[string]bool }

// findUsed returns what clusters and load balancers name. The providers are those of DNS names only.
func findUsed(spec *claudie.Spec) usedNames {
	used := usedNames{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, lb := range spec.LoadBalancers.Clusters {
		markNames(used.roles, lb.Roles)
		markNames(used.pools, lb.Pools)
		used.providers[lb.DNS.Provider] = true
	}
	for _, c := range spec.Kubernetes.Clusters {
		markNames(used.pools, c.Pools.Control)
		markNames(used.pools, c.Pools.Compute)
	}
	return used
}

func (u usedNames) markProviders(spec *claudie.Spec) {
	for _, p := range spec.NodePools.Dynamic {
		u.providers[p.ProviderSpec.Name] = true
	}
}

func markNames(marked map[string]bool, names []string) {
	for _, name := range names {
		marked[name] = true
	}
}

// dropNamed leaves those elements of a list, and of its node, out that are of the base only and not
// used.
func dropNamed[T any](m *InputManifest, all []T, used map[string]bool, keys ...string) []T {
	return dropItems(m, all, func(i int, item *yaml.Node) bool { return m.ofBase[item] && !used[yamldoc.FindText(item, "name")] }, keys...)
}

// dropItems leaves elements of a list out, and their nodes.
func dropItems[T any](m *InputManifest, all []T, drops func(i int, item *yaml.Node) bool, keys ...string) []T {
	n := yamldoc.FindValue(m.Node, keys...)
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) != len(all) {
		return all
	}
	var kept []T
	var nodes []*yaml.Node
	for i, item := range n.Content {
		if drops(i, item) {
			continue
		}
		kept, nodes = append(kept, all[i]), append(nodes, item)
	}
	if len(kept) < len(all) {
		m.Node = replaceValue(m.Node, &yaml.Node{Kind: n.Kind, Tag: n.Tag, Style: n.Style, Line: n.Line, Content: nodes}, keys...)
	}
	return kept
}

// replaceValue returns a mapping in which the value at the keys is another one. The mapping itself is
// not changed.
func replaceValue(mapping, value *yaml.Node, keys ...string) *yaml.Node {
	replaced := *mapping
	replaced.Content = slices.Clone(mapping.Content)
	for i := 0; i+1 < len(replaced.Content); i += 2 {
		if replaced.Content[i].Value != keys[0] {
			continue
		}
		if len(keys) > 1 {
			value = replaceValue(replaced.Content[i+1], value, keys[1:]...)
		}
		replaced.Content[i+1] = value
		break
	}
	return &replaced
}

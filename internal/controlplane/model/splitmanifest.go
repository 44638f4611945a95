package model

import (
	"cmp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

func (c *Clusters) addManifest(m *InputManifest) {
	if m.Annotations[SplitAnnotation] != "true" {
		c.Manifests = append(c.Manifests, m)
		return
	}
	c.Split = append(c.Split, m)
	var names []string
	for _, cluster := range m.Spec.Kubernetes.Clusters {
		if !slices.Contains(names, cluster.Name) {
			c.Manifests = append(c.Manifests, m.newPart(cluster.Name))
			names = append(names, cluster.Name)
		}
	}
}

// PartName returns the name of the manifest that has a single cluster of this one.
func (m *InputManifest) PartName(cluster string) string { return m.Name + "-" + cluster }

// newPart returns the manifest of one cluster, with the load balancers, pools, roles and providers that it
// uses.
func (m *InputManifest) newPart(cluster string) *InputManifest {
	p := m.clonePart(cluster)
	p.Spec.Kubernetes.Clusters = dropItems(p, m.Spec.Kubernetes.Clusters, func(i int, _ *yaml.Node) bool {
		return m.Spec.Kubernetes.Clusters[i].Name != cluster
	}, "kubernetes", "clusters")
	p.Spec.LoadBalancers.Clusters = dropItems(p, m.Spec.LoadBalancers.Clusters, func(i int, _ *yaml.Node) bool {
		return m.Spec.LoadBalancers.Clusters[i].TargetedK8s != cluster
	}, "loadBalancers", "clusters")
	used := findUsed(&p.Spec)
	p.Spec.LoadBalancers.Roles = dropItems(p, m.Spec.LoadBalancers.Roles, func(i int, _ *yaml.Node) bool {
		return !used.roles[m.Spec.LoadBalancers.Roles[i].Name]
	}, "loadBalancers", "roles")
	p.Spec.NodePools.Static = dropItems(p, m.Spec.NodePools.Static, func(i int, _ *yaml.Node) bool { return !used.pools[m.Spec.NodePools.Static[i].Name] }, "nodePools", "static")
	p.Spec.NodePools.Dynamic = dropItems(p, m.Spec.NodePools.Dynamic, func(i int, _ *yaml.Node) bool { return !used.pools[m.Spec.NodePools.Dynamic[i].Name] }, "nodePools", "dynamic")
	used.markProviders(&p.Spec)
	p.keepProviders(func(name string) bool { return used.providers[name] })
	return p
}

// NewEmptyPart returns the manifest of a cluster that is not written any more: it has nothing but the
// providers of that name that are written.
func (m *InputManifest) NewEmptyPart(cluster string, providers []claudie.Provider) *InputManifest {
	p := m.clonePart(cluster)
	p.Node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: m.Node.Line}
	for i := 0; i+1 < len(m.Node.Content); i += 2 {
		if m.Node.Content[i].Value == "providers" {
			p.Node.Content = m.Node.Content[i : i+2]
		}
	}
	p.Spec = claudie.Spec{Providers: m.Spec.Providers}
	p.keepProviders(func(name string) bool {
		return slices.ContainsFunc(providers, func(p claudie.Provider) bool { return p.Name == name })
	})
	return p
}

func (m *InputManifest) clonePart(cluster string) *InputManifest {
	p := *m
	p.Name, p.Whole, p.UnusedProviders = m.PartName(cluster), m, slices.Clone(m.UnusedProviders)
	return &p
}

func (m *InputManifest) keepProviders(kept func(name string) bool) {
	written := m.Whole.Spec.Providers
	m.Spec.Providers = dropItems(m, written, func(i int, _ *yaml.Node) bool { return !kept(written[i].Name) }, "providers")
	m.noteUnusedProviders(written)
}

// Written returns the manifest as people write it: the whole of which this one is a part, or itself.
func (m *InputManifest) Written() *InputManifest { return cmp.Or(m.Whole, m) }

// Subject returns the kind and the name of the manifest that is written.
func (m *InputManifest) Subject() string { return m.Written().Object.Subject() }

// IsNamedBy reports whether a ClusterBinding names the manifest, or the one that it is a part of.
func (m *InputManifest) IsNamedBy(ref claudie.Reference) bool {
	return ref.Name == m.Written().Name && cmp.Or(ref.Namespace, m.Namespace) == m.Namespace
}

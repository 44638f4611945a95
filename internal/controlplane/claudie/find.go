package claudie

import "cmp"

// APIPort is the port of the API server. A role that forwards to it makes its load
// balancer the cluster's endpoint.
const APIPort = 6443

// The default object and namespace of a reference to templates.
const (
	DefaultTemplates = "claudie-default-templates"
	DefaultNamespace = "claudie"
)

// defaultDiskSize is in gigabytes.
const defaultDiskSize = 50

// FindProvider returns nil for an unknown name.
func (s *Spec) FindProvider(name string) *Provider {
	return findNamed(s.Providers, name, func(p *Provider) string { return p.Name })
}

// FindDynamicPool returns nil for an unknown name.
func (s *Spec) FindDynamicPool(name string) *DynamicPool {
	return findNamed(s.NodePools.Dynamic, name, func(p *DynamicPool) string { return p.Name })
}

// FindStaticPool returns nil for an unknown name.
func (s *Spec) FindStaticPool(name string) *StaticPool {
	return findNamed(s.NodePools.Static, name, func(p *StaticPool) string { return p.Name })
}

// FindCluster returns nil for an unknown name.
func (s *Spec) FindCluster(name string) *Cluster {
	return findNamed(s.Kubernetes.Clusters, name, func(c *Cluster) string { return c.Name })
}

// FindRole returns nil for an unknown name.
func (s *Spec) FindRole(name string) *Role {
	return findNamed(s.LoadBalancers.Roles, name, func(r *Role) string { return r.Name })
}

// LoadBalancersOf returns a cluster's load balancers, in the order of the manifest.
func (s *Spec) LoadBalancersOf(cluster string) []*LoadBalancer {
	var all []*LoadBalancer
	for i := range s.LoadBalancers.Clusters {
		if lb := &s.LoadBalancers.Clusters[i]; lb.TargetedK8s == cluster {
			all = append(all, lb)
		}
	}
	return all
}

// CountNodes returns the bounds of a pool's size; 0 for an unknown pool.
func (s *Spec) CountNodes(pool string) (fewest, most int) {
	if p := s.FindDynamicPool(pool); p != nil {
		return p.CountNodes()
	}
	if p := s.FindStaticPool(pool); p != nil {
		return len(p.Nodes), len(p.Nodes)
	}
	return 0, 0
}

func findNamed[T any](all []T, name string, nameOf func(*T) string) *T {
	for i := range all {
		if nameOf(&all[i]) == name {
			return &all[i]
		}
	}
	return nil
}

// CountNodes returns the bounds of the pool's size in one cluster.
func (p *DynamicPool) CountNodes() (fewest, most int) {
	if p.Autoscaler != nil {
		return p.Autoscaler.Min, p.Autoscaler.Max
	}
	return p.Count, p.Count
}

// DiskSize returns the disk size of a compute node in gigabytes; 0 for none.
func (p *DynamicPool) DiskSize() int {
	if p.StorageDiskSize == nil {
		return defaultDiskSize
	}
	return *p.StorageDiskSize
}

// Defaults for static machines.
const (
	defaultSSHPort = 22
	defaultUser    = "root"
)

// Port returns the SSH port of the machines.
func (p *StaticPool) Port() int { return cmp.Or(p.SSHPort, defaultSSHPort) }

// User returns the SSH user.
func (n *StaticNode) User() string { return cmp.Or(n.Username, defaultUser) }

// GPUs returns the number of GPUs of a machine.
func (m *MachineSpec) GPUs() int {
	if m == nil {
		return 0
	}
	return max(m.NvidiaGPUCount, m.NvidiaGPU)
}

// IsAPI reports whether the role forwards to the API server.
func (r *Role) IsAPI() bool { return r.TargetPort == APIPort }

// EffectiveSettings returns the written settings, or Claudie's defaults.
func (r *Role) EffectiveSettings() RoleSettings {
	if r.Settings == nil {
		return RoleSettings{ProxyProtocol: true}
	}
	return *r.Settings
}

// TemplatesName returns the TemplateGitReference of the provider.
func (p *Provider) TemplatesName() Reference {
	ref := Reference{DefaultTemplates, DefaultNamespace}
	if p.TemplatesRef != nil && p.TemplatesRef.Name != "" {
		ref.Name = p.TemplatesRef.Name
	}
	if p.TemplatesRef != nil && p.TemplatesRef.Namespace != "" {
		ref.Namespace = p.TemplatesRef.Namespace
	}
	return ref
}

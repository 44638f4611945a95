package claudie

import "cmp"

// APIPort is the port of the API server: a role that forwards to it makes its load balancer the
// endpoint of the cluster.
const APIPort = 6443

// The default object and namespace of a reference to templates.
const (
	DefaultTemplates = "claudie-default-templates"
	DefaultNamespace = "claudie"
)

// defaultDiskSize is the size in gigabytes of the disk that a compute node has unless it is written.
const defaultDiskSize = 50

// FindProvider returns the provider of that name; nil if there is none.
func (s *Spec) FindProvider(name string) *Provider {
	return findNamed(s.Providers, name, func(p *Provider) string { return p.Name })
}

// FindDynamicPool returns the dynamic pool of that name; nil if there is none.
func (s *Spec) FindDynamicPool(name string) *DynamicPool {
	return findNamed(s.NodePools.Dynamic, name, func(p *DynamicPool) string { return p.Name })
}

// FindStaticPool returns the static pool of that name; nil if there is none.
func (s *Spec) FindStaticPool(name string) *StaticPool {
	return findNamed(s.NodePools.Static, name, func(p *StaticPool) string { return p.Name })
}

// FindCluster returns the Kubernetes cluster of that name; nil if there is none.
func (s *Spec) FindCluster(name string) *Cluster {
	return findNamed(s.Kubernetes.Clusters, name, func(c *Cluster) string { return c.Name })
}

// FindRole returns the role of that name; nil if there is none.
func (s *Spec) FindRole(name string) *Role {
	return findNamed(s.LoadBalancers.Roles, name, func(r *Role) string { return r.Name })
}

// LoadBalancersOf returns the load balancers of a Kubernetes cluster, in the order of the manifest.
func (s *Spec) LoadBalancersOf(cluster string) []*LoadBalancer {
	var all []*LoadBalancer
	for i := range s.LoadBalancers.Clusters {
		if lb := &s.LoadBalancers.Clusters[i]; lb.TargetedK8s == cluster {
			all = append(all, lb)
		}
	}
	return all
}

// CountNodes returns the fewest and the most nodes that a pool has; 0 for an unknown pool.
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

// CountNodes returns the fewest and the most nodes that the pool has in one cluster.
func (p *DynamicPool) CountNodes() (fewest, most int) {
	if p.Autoscaler != nil {
		return p.Autoscaler.Min, p.Autoscaler.Max
	}
	return p.Count, p.Count
}

// DiskSize returns the size of the disk of a compute node in gigabytes; 0 for none.
func (p *DynamicPool) DiskSize() int {
	if p.StorageDiskSize == nil {
		return defaultDiskSize
	}
	return *p.StorageDiskSize
}

// How static machines are reached unless something else is written.
const (
	defaultSSHPort = 22
	defaultUser    = "root"
)

// Port returns the port of SSH of the machines of the pool.
func (p *StaticPool) Port() int { return cmp.Or(p.SSHPort, defaultSSHPort) }

// User returns the user as whom the machine is reached.
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

// EffectiveSettings returns the settings of the role, or those that Claudie has if none are written.
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

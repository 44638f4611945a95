package provision_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// replica is what a cluster has, as the test sees it: it is changed by the steps of a plan, and by nothing
// of the planner.
type replica struct {
	version, clusterType string
	proxy                string
	endpoint             provision.Endpoint
	open                 bool
	pools                map[string]replicaPool // role and pool
	balancers            map[string]replicaBalancer
}

type replicaPool struct {
	nodes     int
	addresses []string // sorted
	scaler    claudie.Autoscaler
	templates string
	marks     string // of the nodes of a cluster
}

type replicaBalancer struct {
	dns   claudie.DNS
	pools map[string]replicaPool
	roles map[string]replicaRole
}

type replicaRole struct {
	external, internal string
	targets            string
}

// newReplica returns what a cluster of a state has; nil if it is not there.
func newReplica(s *provision.State, name string) *replica {
	c := s.Spec.FindCluster(name)
	if c == nil {
		return nil
	}
	r := &replica{version: c.Version, clusterType: s.ClusterTypes[name], pools: map[string]replicaPool{}, balancers: map[string]replicaBalancer{}}
	onHetzner := false
	for role, list := range map[string][]string{provision.Control: c.Pools.Control, provision.Compute: c.Pools.Compute} {
		for _, pool := range list {
			is := newReplicaPool(s, pool)
			if p := s.Spec.FindDynamicPool(pool); p != nil {
				is.marks = fmt.Sprint(p.Labels, p.Annotations, p.Taints)
				onHetzner = onHetzner || s.Spec.FindProvider(p.ProviderSpec.Name).Type == "hetzner"
			}
			r.pools[role+"/"+pool] = is
		}
	}
	onHetzner = onHetzner && s.Executor == provision.DefaultExecutor // others have no default
	if p := c.InstallationProxy; p == nil && onHetzner || p != nil && (p.Mode == "on" || p.Mode == "default" && onHetzner) {
		r.proxy = "on"
		if p != nil {
			r.proxy += p.NoProxy
		}
	}
	for _, lb := range s.Spec.LoadBalancersOf(name) {
		b := replicaBalancer{lb.DNS, map[string]replicaPool{}, map[string]replicaRole{}}
		for _, pool := range lb.Pools {
			b.pools[pool] = newReplicaPool(s, pool)
		}
		for _, role := range lb.Roles {
			b.roles[role] = newReplicaRole(s, role)
		}
		r.balancers[lb.Name] = b
	}
	r.endpoint = s.Endpoints[name]
	r.open = r.endpoint.LoadBalancer == ""
	return r
}

// keepHostnames gives each load balancer that is to have no hostname the one that it has, as Claudie does.
func (r *replica) keepHostnames(current *replica) {
	for name, b := range r.balancers {
		if b.dns.Hostname == "" && current != nil {
			b.dns.Hostname = current.balancers[name].dns.Hostname
			r.balancers[name] = b
		}
	}
}

func newReplicaPool(s *provision.State, pool string) replicaPool {
	if p := s.Spec.FindStaticPool(pool); p != nil {
		var addresses []string
		for _, n := range p.Nodes {
			addresses = append(addresses, n.Endpoint)
		}
		slices.Sort(addresses)
		return replicaPool{nodes: len(addresses), addresses: addresses}
	}
	p := s.Spec.FindDynamicPool(pool)
	fewest, _ := p.CountNodes()
	r := replicaPool{nodes: fewest}
	if s.Executor == provision.DefaultExecutor { // others use none
		r.templates = s.Templates[p.ProviderSpec.Name]
	}
	if p.Autoscaler != nil {
		r.scaler = *p.Autoscaler
	}
	return r
}

func newReplicaRole(s *provision.State, name string) replicaRole {
	r := s.Spec.FindRole(name)
	return replicaRole{fmt.Sprintf("%d %s", r.Port, r.Protocol), fmt.Sprint(r.TargetPort, r.EffectiveSettings()), fmt.Sprint(slices.Sorted(slices.Values(r.TargetPools)))}
}

// apply changes what the step is said to change, to what is wanted. It returns what is wrong with the
// step.
func (r *replica) apply(s provision.Step, want *replica) string {
	b, wanted := r.balancers[s.Subject.LoadBalancer], replicaBalancer{}
	if want != nil {
		wanted = want.balancers[s.Subject.LoadBalancer]
	}
	role, target := b.roles[s.Subject.Role], wanted.roles[s.Subject.Role]
	switch s.Kind {
	case provision.AddNodes, provision.RemoveNodes, provision.DestroyNodes, provision.ToAutoscaled, provision.ToFixed, provision.SetAutoscaler:
		pools, wants, key := r.pools, want.pools, s.Subject.PoolRole+"/"+s.Subject.Pool
		if s.Subject.PoolRole == provision.Balancing {
			pools, wants, key = b.pools, wanted.pools, s.Subject.Pool
		}
		return applyToPool(s, pools, wants, key)
	case provision.CreatePool, provision.CreateLB, provision.CreateNetwork, provision.DestroyNetwork: // of a new cluster, or no part of this model
	case provision.ReplaceNodes:
		key := provision.Control + "/"
		delete(r.pools, key+s.Reason[0].Old)
		r.pools[key+s.Subject.Pool] = want.pools[key+s.Subject.Pool]
		r.endpoint.Pool = s.Subject.Pool // the cloud's
	case provision.JoinLB:
		r.balancers[s.Subject.LoadBalancer] = replicaBalancer{wanted.dns, maps.Clone(wanted.pools), maps.Clone(wanted.roles)}
	case provision.DeleteLB:
		delete(r.balancers, s.Subject.LoadBalancer)
	case provision.AddRole:
		b.roles[s.Subject.Role] = target
	case provision.DeleteRole:
		delete(b.roles, s.Subject.Role)
	case provision.RetargetLB:
		role.targets = target.targets
		b.roles[s.Subject.Role] = role
	case provision.ChangeRoleInternal:
		role.internal = target.internal
		b.roles[s.Subject.Role] = role
	case provision.ChangeRoleExternal:
		role.external = target.external
		b.roles[s.Subject.Role] = role
	case provision.ReplaceDNS:
		b.dns = wanted.dns
		r.balancers[s.Subject.LoadBalancer] = b
	case provision.Open6443, provision.Close6443:
		r.open = s.Kind == provision.Open6443
	case provision.MoveAPIEndpoint, provision.TransferAPINode:
		r.endpoint = provision.Endpoint{LoadBalancer: s.Subject.LoadBalancer, Pool: s.Subject.Pool}
		if text, static := strings.CutPrefix(s.Reason[0].New, "node "); static {
			r.endpoint.Node, _, _ = strings.Cut(text, " ")
		}
	case provision.UpgradeKubernetes:
		r.version = want.version
	case provision.ChangeProxy:
		r.proxy = want.proxy
	case provision.PatchNodes:
		for key, is := range want.pools {
			if p, there := r.pools[key]; there {
				p.marks = is.marks
				r.pools[key] = p
			}
		}
	case provision.DetachClusterType:
		r.clusterType = ""
	case provision.AttachClusterType:
		r.clusterType = want.clusterType
	default:
		return "it is of an unexpected kind"
	}
	return ""
}

// applyToPool changes the machines of a pool. Those that newer ones replace are a pool of their own.
func applyToPool(s provision.Step, pools, wants map[string]replicaPool, key string) string {
	p, there := pools[key]
	want := wants[key]
	if s.Kind == provision.DestroyNodes {
		s.Kind = provision.RemoveNodes
	}
	switch {
	case s.Kind == provision.AddNodes && s.Subject.New:
		pools[key+" old"] = p
		p.templates = want.templates
	case s.Kind == provision.AddNodes && !there:
		p = want
	case s.Kind == provision.RemoveNodes && s.Subject.Old:
		delete(pools, key+" old")
		return ""
	case s.Kind == provision.RemoveNodes && s.Reason[0].New == "" && s.Reason[0].Old == s.Subject.Pool:
		delete(pools, key)
		return ""
	case s.Kind == provision.AddNodes || s.Kind == provision.RemoveNodes:
		before := p
		p.nodes, p.addresses = want.nodes, want.addresses
		if s.Kind == provision.AddNodes && before.addresses != nil {
			p.addresses = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(before.addresses), want.addresses...))))
			p.nodes = len(p.addresses)
		}
		if want.scaler.Max > 0 {
			p.nodes = min(max(before.nodes, want.scaler.Min), want.scaler.Max)
		}
		if p.nodes == before.nodes || (p.nodes > before.nodes) != (s.Kind == provision.AddNodes) {
			return fmt.Sprintf("it takes %d nodes to %d", before.nodes, p.nodes)
		}
	default:
		p.scaler = want.scaler
		if s.Kind == provision.ToFixed {
			p.nodes = want.nodes
		}
	}
	if want.scaler.Max > 0 && p.scaler == want.scaler {
		p.nodes = want.nodes // it is known no more
	}
	pools[key] = p
	return ""
}

// countControl counts the control nodes.
func (r *replica) countControl() int {
	n := 0
	for key, p := range r.pools {
		if strings.HasPrefix(key, provision.Control+"/") {
			n += p.nodes
		}
	}
	return n
}

// findDamage returns what a cluster cannot be at any time; "" if it is sound. Pools that both states know
// are not looked for. tofu-controller changes machines that exist with Kubernetes, and so before the roles that
// are deleted.
func (r *replica) findDamage(want *replica, executor string) string {
	if r.countControl() == 0 {
		return "it has no control nodes"
	}
	for name, b := range r.balancers {
		for role, is := range b.roles {
			if _, stays := want.balancers[name].roles[role]; !stays && executor == "tofu" {
				continue
			}
			for _, pool := range strings.Fields(strings.Trim(is.targets, "[]")) {
				if _, control := r.pools[provision.Control+"/"+pool]; control {
					continue
				}
				if _, compute := r.pools[provision.Compute+"/"+pool]; !compute {
					return fmt.Sprintf("role %s of %s forwards to pool %s, which is not there", role, name, pool)
				}
			}
		}
	}
	if r.endpoint.LoadBalancer != "" {
		for _, role := range r.balancers[r.endpoint.LoadBalancer].roles {
			if strings.HasPrefix(role.internal, "6443 ") && strings.HasPrefix(role.external, "6443 ") {
				return ""
			}
		}
		return "its API endpoint is a load balancer that does not serve it"
	}
	p, there := r.pools[provision.Control+"/"+r.endpoint.Pool]
	switch {
	case !there || r.endpoint.Node != "" && !slices.Contains(p.addresses, r.endpoint.Node):
		return "its API endpoint is a node that is not there"
	case !r.open:
		return "its API endpoint is a node that does not answer on port 6443"
	}
	return ""
}

package provision

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// expandSpec returns was with the additions of is. Pools have the larger number of
// nodes; other shared parts stay as in was.
func expandSpec(was, is *stateIndex) claudie.Spec { return uniteSpecs(was, is, growDynamic) }

// switchSpec returns is with what it lacks of was. Pools have the larger number of
// nodes; other shared parts are as in is.
func switchSpec(was, is *stateIndex) claudie.Spec { return uniteSpecs(is, was, keepDynamic) }

// uniteSpecs adds the parts of other; joinDynamic merges shared dynamic pools.
func uniteSpecs(one, other *stateIndex, joinDynamic func(one, other *claudie.DynamicPool)) claudie.Spec {
	s, more := one.Spec, &other.Spec
	s.Providers = union(s.Providers, more.Providers, nameOfProvider, nil)
	s.NodePools.Dynamic = union(s.NodePools.Dynamic, more.NodePools.Dynamic, nameOfDynamic, joinDynamic)
	s.NodePools.Static = union(s.NodePools.Static, more.NodePools.Static, nameOfStatic, func(p, other *claudie.StaticPool) {
		p.Nodes = union(p.Nodes, other.Nodes, addressOf, nil)
	})
	s.LoadBalancers.Roles = union(s.LoadBalancers.Roles, more.LoadBalancers.Roles, nameOfRole, nil)
	s.Kubernetes.Clusters = union(s.Kubernetes.Clusters, more.Kubernetes.Clusters, nameOfCluster, joinPools)
	s.LoadBalancers.Clusters = union(s.LoadBalancers.Clusters, more.LoadBalancers.Clusters, nameOfBalancer, joinBalancerParts)
	return s
}

// union returns copies of all, and items of more with new names. join merges items with
// the same name.
func union[T any](all, more []T, nameOf func(*T) string, join func(one, other *T)) []T {
	result := slices.Clone(all)
	index := map[string]int{}
	for i := range result {
		index[nameOf(&result[i])] = i
	}
	for i := range more {
		other := &more[i]
		at, known := index[nameOf(other)]
		switch {
		case !known:
			index[nameOf(other)] = len(result)
			result = append(result, *other)
		case join != nil:
			join(&result[at], other)
		}
	}
	return result
}

func nameOfProvider(p *claudie.Provider) string      { return p.Name }
func nameOfDynamic(p *claudie.DynamicPool) string    { return p.Name }
func nameOfStatic(p *claudie.StaticPool) string      { return p.Name }
func addressOf(n *claudie.StaticNode) string         { return n.Endpoint }
func nameOfRole(r *claudie.Role) string              { return r.Name }
func nameOfCluster(c *claudie.Cluster) string        { return c.Name }
func nameOfBalancer(lb *claudie.LoadBalancer) string { return lb.Name }

func nameItself(name *string) string { return *name }

func growDynamic(p, desired *claudie.DynamicPool) {
	if p.Autoscaler != nil {
		return
	}
	fewest, _ := desired.CountNodes()
	p.Count = max(p.Count, fewest)
}

func keepDynamic(p, previous *claudie.DynamicPool) {
	_, most := p.CountNodes()
	fewest, _ := previous.CountNodes()
	if most < fewest {
		p.Count, p.Autoscaler = previous.Count, previous.Autoscaler
	}
}

func joinPools(c, other *claudie.Cluster) {
	c.Pools.Control = union(c.Pools.Control, other.Pools.Control, nameItself, nil)
	c.Pools.Compute = union(c.Pools.Compute, other.Pools.Compute, nameItself, nil)
}

func joinBalancerParts(lb, other *claudie.LoadBalancer) {
	lb.Pools = union(lb.Pools, other.Pools, nameItself, nil)
	lb.Roles = union(lb.Roles, other.Roles, nameItself, nil)
}

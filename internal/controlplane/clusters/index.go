package clusters

import "github.com/fairlead-io/fairlead/internal/controlplane/claudie"

// index finds parts by name, since there may be thousands of pools. It prefers the
// first of duplicates.
type index struct {
	providers named[claudie.Provider]
	dynamic   named[claudie.DynamicPool]
	static    named[claudie.StaticPool]
	clusters  named[claudie.Cluster]
	roles     named[claudie.Role]
	balancers map[string][]*claudie.LoadBalancer // by target cluster
}

type named[T any] struct {
	list   []string
	byName map[string]*T
}

func newNamed[T any](all []T, nameOf func(*T) string) named[T] {
	n := named[T]{make([]string, len(all)), make(map[string]*T, len(all))}
	for i := range all {
		n.list[i] = nameOf(&all[i])
		if n.byName[n.list[i]] == nil {
			n.byName[n.list[i]] = &all[i]
		}
	}
	return n
}

func (n *named[T]) find(name string) *T { return n.byName[name] }

func newIndex(spec *claudie.Spec) *index {
	x := &index{
		providers: newNamed(spec.Providers, func(p *claudie.Provider) string { return p.Name }),
		dynamic:   newNamed(spec.NodePools.Dynamic, func(p *claudie.DynamicPool) string { return p.Name }),
		static:    newNamed(spec.NodePools.Static, func(p *claudie.StaticPool) string { return p.Name }),
		clusters:  newNamed(spec.Kubernetes.Clusters, func(k *claudie.Cluster) string { return k.Name }),
		roles:     newNamed(spec.LoadBalancers.Roles, func(r *claudie.Role) string { return r.Name }),
		balancers: map[string][]*claudie.LoadBalancer{},
	}
	for i := range spec.LoadBalancers.Clusters {
		lb := &spec.LoadBalancers.Clusters[i]
		x.balancers[lb.TargetedK8s] = append(x.balancers[lb.TargetedK8s], lb)
	}
	return x
}

func (x *index) hasPool(name string) bool {
	return x.dynamic.find(name) != nil || x.static.find(name) != nil
}

func (x *index) countNodes(pool string) (fewest, most int) {
	if p := x.dynamic.find(pool); p != nil {
		return p.CountNodes()
	}
	if p := x.static.find(pool); p != nil {
		return len(p.Nodes), len(p.Nodes)
	}
	return 0, 0
}

func (x *index) hasAPIRole(lb *claudie.LoadBalancer) bool {
	for _, name := range lb.Roles {
		if r := x.roles.find(name); r != nil && r.IsAPI() {
			return true
		}
	}
	return false
}

type names struct {
	has  func(name string) bool
	list func() []string // for hints
}

func (n *named[T]) names() names {
	return names{func(name string) bool { return n.byName[name] != nil }, func() []string { return n.list }}
}

func (x *index) poolNames() names {
	return names{x.hasPool, func() []string {
		return append(x.dynamic.list[:len(x.dynamic.list):len(x.dynamic.list)], x.static.list...)
	}}
}

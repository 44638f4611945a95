package clustermodule

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

type balancer struct {
	*claudie.LoadBalancer
	id    string
	at    []any // in the manifest
	pools []*Part
	names []string
	dns   *Part
}

// planBalancer adds machines and DNS name, which the API server may need.
func (p *planner) planBalancer(lb *claudie.LoadBalancer) *balancer {
	i := indexOf(p.manifest.Spec.LoadBalancers.Clusters, func(l *claudie.LoadBalancer) bool { return l.Name == lb.Name })
	b := &balancer{LoadBalancer: lb, id: lb.Name + "-" + shortHash(p.environment, p.manifest.Namespace, p.manifest.Name, p.cluster.Name, lb.Name), at: []any{"loadBalancers", "clusters", i}}
	var open []cty.Value
	for _, r := range p.rolesOf(lb) {
		open = append(open, cty.ObjectVal(map[string]cty.Value{"protocol": cty.StringVal(r.Protocol), "port": newNumber(r.Port)}))
	}
	for _, name := range lb.Pools {
		pool := p.manifest.Spec.FindDynamicPool(name)
		if pool == nil { // existing machines
			continue
		}
		network := p.addNetwork(b.id, balancingRole, pool, open)
		b.pools, b.names = append(b.pools, p.add(p.newPool(b.id, balancingRole, pool, network))), append(b.names, name)
	}
	b.dns = p.addDNS(b)
	return b
}

func (b *balancer) hostname() string {
	if b.DNS.Hostname != "" {
		return b.DNS.Hostname
	}
	return shortHash(b.id, "hostname") + shortHash(b.id, "dns")
}

func (p *planner) addDNS(b *balancer) *Part {
	path := func(keys ...any) []any { return append(append(b.at[:len(b.at):len(b.at)], "dns"), keys...) }
	part := &Part{
		Name: p.newName(b.id, "dns"), Title: p.cluster.Name + "/dns/" + b.Name, kind: dnsKind, Outputs: []string{"endpoint"}, pos: b.at,
		arguments: []argument{
			newConstant("name", cty.StringVal(b.Name)),
			newWritten("zone", cty.StringVal(b.DNS.Zone), true, path("dnsZone")...),
			newWritten("hostname", cty.StringVal(b.hostname()), true, path("hostname")...),
			newWritten("alternative_names", newTexts(b.DNS.AlternativeNames), len(b.DNS.AlternativeNames) > 0, path("alternativeNames")...),
		},
	}
	p.useProvider(part, b.DNS.Provider, "dns")
	p.addBalancerNodes(part, b)
	return p.add(part)
}

func (p *planner) addBalancerNodes(part *Part, b *balancer) {
	var pairs []pair
	for i, pool := range b.pools {
		pairs = append(pairs, pair{b.names[i], decodeJSON(part.readOutput(pool, balancingRole+"_"+b.names[i], "nodes", false))})
	}
	part.arguments = append(part.arguments, newExpression("nodes", objectOf(pairs)))
	var static []cty.Value
	for _, name := range b.Pools {
		pool := p.manifest.Spec.FindStaticPool(name)
		if pool == nil {
			continue
		}
		for _, n := range pool.Nodes {
			static = append(static, cty.StringVal(n.Endpoint))
		}
	}
	part.arguments = append(part.arguments, newWritten("static_endpoints", cty.TupleVal(static), len(static) > 0, append(b.at[:len(b.at):len(b.at)], "pools")...))
}

// addBalancer adds the configuration, which needs the target nodes.
func (p *planner) addBalancer(b *balancer) {
	part := &Part{
		Name: p.newName(b.id, "cfg"), Title: p.cluster.Name + "/load-balancer/" + b.Name, kind: loadBalancerKind, pos: b.at,
		module: p.modules.LoadBalancer, field: []any{"loadBalancer"}, After: []*Part{p.cluster.Bootstrap},
	}
	var roles, static []cty.Value
	var targets []string
	for _, r := range p.rolesOf(b.LoadBalancer) {
		settings := r.EffectiveSettings()
		roles = append(roles, cty.ObjectVal(map[string]cty.Value{
			"name": cty.StringVal(r.Name), "protocol": cty.StringVal(r.Protocol), "port": newNumber(r.Port), "target_port": newNumber(r.TargetPort),
			"target_pools": newTexts(r.TargetPools), "proxy_protocol": cty.BoolVal(settings.ProxyProtocol), "sticky_sessions": cty.BoolVal(settings.StickySessions),
		}))
		targets = append(targets, r.TargetPools...)
	}
	slices.Sort(targets)
	targets = slices.Compact(targets)
	for _, name := range targets {
		pool := p.manifest.Spec.FindStaticPool(name)
		if pool == nil {
			continue
		}
		for _, n := range pool.Nodes {
			static = append(static, cty.ObjectVal(map[string]cty.Value{"pool": cty.StringVal(name), "endpoint": cty.StringVal(n.Endpoint)}))
		}
	}
	part.arguments = []argument{
		newConstant("name", cty.StringVal(b.Name)),
		newWritten("roles", cty.TupleVal(roles), true, append(b.at[:len(b.at):len(b.at)], "roles")...),
		newWritten("static_targets", cty.TupleVal(static), len(static) > 0, append(b.at[:len(b.at):len(b.at)], "roles")...),
	}
	p.addBalancerNodes(part, b)
	control := p.targetsOf(p.cluster.Pools.Control, targets)
	compute := p.targetsOf(p.cluster.Pools.Compute, targets)
	part.arguments = append(part.arguments,
		newExpression("control_targets", p.nodesOf(part, controlRole, control)),
		newExpression("compute_targets", p.nodesOf(part, computeRole, compute)))
	p.addStaticKeys(part, b.Pools)
	p.add(part)
}

func (p *planner) targetsOf(pools, targets []string) []string {
	return slices.DeleteFunc(slices.Clone(pools), func(name string) bool { return !slices.Contains(targets, name) })
}

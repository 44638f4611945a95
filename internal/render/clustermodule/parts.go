package clustermodule

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// addNetwork returns the network of a region for the machines of owner: the cluster or
// a load balancer.
func (p *planner) addNetwork(owner, role string, pool *claudie.DynamicPool, open []cty.Value) *Part {
	spec := &pool.ProviderSpec
	key := owner + "/" + spec.Name + "/" + spec.Region
	if found := p.networks[key]; found != nil {
		return found
	}
	at := []any{"nodePools", "dynamic", p.indexOfPool(pool.Name), "providerSpec"}
	part := &Part{
		Name: p.newName(owner, "net", spec.Name, spec.Region), Title: p.cluster.Name + "/network/" + spec.Name + "-" + spec.Region,
		kind: networkKind, Outputs: []string{"network"}, pos: at,
		arguments: []argument{
			newConstant("name", cty.StringVal(owner)),
			newConstant("role", cty.StringVal(role)),
			newWritten("region", cty.StringVal(spec.Region), true, append(at[:len(at):len(at)], "region")...),
			newWritten("cidr", cty.StringVal(p.cluster.Network), true, "kubernetes", "clusters", p.indexOfCluster(), "network"),
			newConstant("open_ports", cty.TupleVal(open)),
		},
	}
	if role == balancingRole {
		part.Title += "-" + owner
	}
	p.useProvider(part, spec.Name, "network")
	p.networks[key] = p.add(part)
	return part
}

func (p *planner) useProvider(part *Part, name, module string) {
	provider := p.manifest.Spec.FindProvider(name)
	if provider == nil { // reported elsewhere
		return
	}
	all := p.modules.Providers[provider.Type]
	part.field = []any{"providers", provider.Type, module}
	switch module {
	case "network":
		part.module = all.Network
	case "pool":
		part.module = all.Pool
	case "dns":
		part.module = all.DNS
	}
	ability, _ := claudie.FindAbility(provider.Type)
	var pairs []pair
	for _, key := range slices.Sorted(slices.Values(ability.Keys)) {
		pairs = append(pairs, pair{key, part.readVariable(variable{"credentials_" + key, provider.SecretRef.Name, key, true})})
	}
	part.arguments = append(part.arguments, newExpression("credentials", objectOf(pairs)))
}

func apiPort() cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"protocol": cty.StringVal("tcp"), "port": newNumber(claudie.APIPort)})
}

func (p *planner) addPool(role, name string, openAPI bool) {
	pool := p.manifest.Spec.FindDynamicPool(name)
	if pool == nil { // existing machines
		return
	}
	var open []cty.Value
	if openAPI {
		open = append(open, apiPort())
	}
	network := p.addNetwork(p.cluster.ID, "kubernetes", pool, open)
	part := p.newPool(p.cluster.ID, role, pool, network)
	if role == computeRole {
		join := part.readOutput(p.cluster.Bootstrap, "join", "join", true)
		part.arguments = append(part.arguments, newExpression("join", decodeJSON(join)))
	}
	p.pools[role+"/"+name] = p.add(part)
}

func (p *planner) newPool(owner, role string, pool *claudie.DynamicPool, network *Part) *Part {
	at := []any{"nodePools", "dynamic", p.indexOfPool(pool.Name)}
	path := func(keys ...any) []any { return append(at[:len(at):len(at)], keys...) }
	spec := &pool.ProviderSpec
	fewest, _ := pool.CountNodes()
	var nodes []string
	for i := range fewest {
		nodes = append(nodes, pool.Name+"-"+shortHash(owner, role, pool.Name)+"-"+twoDigits(i+1))
	}
	disk := 0
	if role == computeRole {
		disk = pool.DiskSize()
	}
	part := &Part{
		Name: p.newName(owner, "np", role, pool.Name), Title: p.cluster.Name + "/" + role + "/" + pool.Name, kind: poolKind, Outputs: []string{"nodes"}, pos: at,
		arguments: []argument{
			newConstant("pool", cty.StringVal(pool.Name)),
			newConstant("role", cty.StringVal(role)),
			newWritten("nodes", newTexts(nodes), true, path("count")...),
			newWritten("region", cty.StringVal(spec.Region), true, path("providerSpec", "region")...),
			newWritten("zone", orNull(spec.Zone), spec.Zone != "", path("providerSpec", "zone")...),
			newWritten("external_network", orNull(spec.ExternalNetworkName), spec.ExternalNetworkName != "", path("providerSpec", "externalNetworkName")...),
			newWritten("server_type", cty.StringVal(pool.ServerType), true, path("serverType")...),
			newWritten("image", cty.StringVal(pool.Image), true, path("image")...),
			newWritten("disk_size", newNumber(disk), pool.StorageDiskSize != nil && disk > 0, path("storageDiskSize")...),
			newWritten("labels", textMap(pool.Labels), len(pool.Labels) > 0, path("labels")...),
			newWritten("annotations", textMap(pool.Annotations), len(pool.Annotations) > 0, path("annotations")...),
			newWritten("taints", taintsOf(pool.Taints), len(pool.Taints) > 0, path("taints")...),
			newWritten("spot", cty.BoolVal(pool.Spot), pool.Spot, path("spot")...),
			newWritten("autoscaler", autoscalerOf(pool.Autoscaler), pool.Autoscaler != nil, path("autoscaler")...),
			newWritten("machine", machineOf(pool.MachineSpec), pool.MachineSpec != nil, path("machineSpec")...),
		},
	}
	if role == balancingRole {
		part.Title = p.cluster.Name + "/" + role + "/" + pool.Name + "-" + owner
	}
	p.useProvider(part, spec.Name, "pool")
	part.arguments = append(part.arguments, newExpression("network", decodeJSON(part.readOutput(network, "network", "network", false))))
	return part
}

func taintsOf(taints []claudie.Taint) cty.Value {
	all := make([]cty.Value, len(taints))
	for i, t := range taints {
		all[i] = cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(t.Key), "value": cty.StringVal(t.Value), "effect": cty.StringVal(t.Effect)})
	}
	return cty.TupleVal(all)
}

func autoscalerOf(a *claudie.Autoscaler) cty.Value {
	if a == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return cty.ObjectVal(map[string]cty.Value{"min": newNumber(a.Min), "max": newNumber(a.Max)})
}

func machineOf(m *claudie.MachineSpec) cty.Value {
	if m == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return cty.ObjectVal(map[string]cty.Value{"cpus": newNumber(m.CPUCount), "memory": newNumber(m.Memory), "gpus": newNumber(m.GPUs()), "gpu_type": orNull(m.NvidiaGPUType)})
}

// addBootstrap adds Kubernetes on the control pools. endpoint is the DNS part of the
// API's load balancer, or nil.
func (p *planner) addBootstrap(kubeconfig string, endpoint *Part) {
	i := p.indexOfCluster()
	at := []any{"kubernetes", "clusters", i}
	part := &Part{
		Name: p.newName(p.cluster.ID, "k8s"), Title: p.cluster.Name + "/bootstrap", kind: bootstrapKind, Outputs: []string{Kubeconfig, "join"}, pos: at,
		module: p.modules.Bootstrap, field: []any{"bootstrap"},
		arguments: []argument{
			newWritten("kubernetes_version", cty.StringVal(p.cluster.Version), true, "kubernetes", "clusters", i, "version"),
			newWritten("cidr", cty.StringVal(p.cluster.Network), true, "kubernetes", "clusters", i, "network"),
			newWritten("proxy", proxyOf(p.cluster.InstallationProxy), p.cluster.InstallationProxy != nil, "kubernetes", "clusters", i, "installationProxy"),
		},
	}
	part.arguments = append(part.arguments, newExpression("nodes", p.nodesOf(part, controlRole, p.cluster.Pools.Control)))
	p.addStaticNodes(part, at)
	if endpoint != nil {
		part.arguments = append(part.arguments, newExpression("endpoint", part.readOutput(endpoint, "endpoint", "endpoint", false)))
	} else {
		part.arguments = append(part.arguments, newWritten("endpoint", cty.NullVal(cty.String), false))
	}
	p.cluster.Bootstrap = p.add(part)
	part.OutputsSecret = kubeconfig
}

func proxyOf(i *claudie.InstallationProxy) cty.Value {
	if i == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return cty.ObjectVal(map[string]cty.Value{"mode": orNull(i.Mode), "endpoint": orNull(i.Endpoint), "no_proxy": orNull(i.NoProxy)})
}

func (p *planner) nodesOf(part *Part, role string, pools []string) hclwrite.Tokens {
	var pairs []pair
	for _, name := range pools {
		if from := p.pools[role+"/"+name]; from != nil {
			pairs = append(pairs, pair{name, decodeJSON(part.readOutput(from, role+"_"+name, "nodes", false))})
		}
	}
	return objectOf(pairs)
}

func (p *planner) addStaticNodes(part *Part, at []any) {
	var nodes []cty.Value
	add := func(role string, pools []string) {
		for _, name := range pools {
			pool := p.manifest.Spec.FindStaticPool(name)
			if pool == nil {
				continue
			}
			for _, n := range pool.Nodes {
				nodes = append(nodes, cty.ObjectVal(map[string]cty.Value{
					"pool": cty.StringVal(name), "role": cty.StringVal(role), "endpoint": cty.StringVal(n.Endpoint),
					"username": cty.StringVal(n.User()), "port": newNumber(pool.Port()),
				}))
			}
		}
	}
	add(controlRole, p.cluster.Pools.Control)
	add(computeRole, p.cluster.Pools.Compute)
	part.arguments = append(part.arguments, newWritten("static_nodes", cty.TupleVal(nodes), len(nodes) > 0, append(at[:len(at):len(at)], "pools")...))
	p.addStaticKeys(part, slices.Concat(p.cluster.Pools.Control, p.cluster.Pools.Compute))
}

func (p *planner) addStaticKeys(part *Part, pools []string) {
	var keys []pair
	for _, name := range pools {
		pool := p.manifest.Spec.FindStaticPool(name)
		if pool == nil {
			continue
		}
		for _, n := range pool.Nodes {
			if !slices.ContainsFunc(keys, func(k pair) bool { return k.key == n.Endpoint }) {
				v := variable{"ssh_key_" + shortHash(n.SecretRef.Name), n.SecretRef.Name, claudie.StaticKey, true}
				keys = append(keys, pair{n.Endpoint, part.readVariable(v)})
			}
		}
	}
	if len(keys) == 0 {
		part.arguments = append(part.arguments, newWritten("ssh_keys", cty.EmptyObjectVal, false))
		return
	}
	part.arguments = append(part.arguments, newExpression("ssh_keys", objectOf(keys)))
}

func (p *planner) indexOfPool(name string) int {
	return indexOf(p.manifest.Spec.NodePools.Dynamic, func(d *claudie.DynamicPool) bool { return d.Name == name })
}

func (p *planner) indexOfCluster() int {
	return indexOf(p.manifest.Spec.Kubernetes.Clusters, func(c *claudie.Cluster) bool { return c.Name == p.cluster.Name })
}

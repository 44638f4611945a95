package clusters

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

const (
	maxNodes       = 255
	minDiskSize    = 50
	maxAnnotations = 256 << 10
	maxPort        = 65535
)

var taintEffects = []string{"NoSchedule", "NoExecute", "PreferNoSchedule"}

func (c *checker) checkPools() {
	seen, used := map[string]fieldPath{}, c.usedPools()
	for i := range c.spec.NodePools.Dynamic {
		p, path := &c.spec.NodePools.Dynamic[i], fieldPath{"nodePools", "dynamic", i}
		c.checkPoolName(path, p.Name, seen, used)
		c.checkDynamicPool(path, p)
	}
	addresses := map[netip.Addr]fieldPath{}
	for i := range c.spec.NodePools.Static {
		p, path := &c.spec.NodePools.Static[i], fieldPath{"nodePools", "static", i}
		c.checkPoolName(path, p.Name, seen, used)
		c.checkStaticPool(path, p, addresses)
	}
}

func (c *checker) usedPools() map[string]bool {
	used := map[string]bool{}
	for _, cluster := range c.spec.Kubernetes.Clusters {
		for _, name := range slices.Concat(cluster.Pools.Control, cluster.Pools.Compute) {
			used[name] = true
		}
	}
	for _, lb := range c.spec.LoadBalancers.Clusters {
		for _, name := range lb.Pools {
			used[name] = true
		}
	}
	return used
}

func (c *checker) checkPoolName(path fieldPath, name string, seen map[string]fieldPath, used map[string]bool) {
	c.checkName("pool", path.child("name"), name, maxPoolName)
	c.checkTwice("pool", path.child("name"), name, seen)
	if name != "" && !used[name] {
		c.addf(path.child("name"), "remove the pool, or name it in a cluster", "pool %s: no cluster and no load balancer has it, and Claudie refuses the manifest", name)
	}
}

func (c *checker) checkDynamicPool(path fieldPath, p *claudie.DynamicPool) {
	what := "pool " + p.Name
	c.checkProviderSpec(what, path.child("providerSpec"), p)
	c.checkCount(what, path, p)
	c.requireText(what, path.child("serverType"), p.ServerType)
	c.requireText(what, path.child("image"), p.Image)
	if size := p.DiskSize(); size != 0 && size < minDiskSize {
		c.addf(path.child("storageDiskSize"), "write 0 for no disk", "%s: storageDiskSize is %d, and %d is the least", what, size, minDiskSize)
	}
	c.checkNodeMetadata(what, path, p.Labels, p.Annotations, p.Taints)
	c.checkMachine(what, path.child("machineSpec"), p)
}

func (c *checker) checkProviderSpec(what string, path fieldPath, p *claudie.DynamicPool) {
	c.requireText(what, path.child("region"), p.ProviderSpec.Region)
	c.checkPlace(what, path.child("region"), p.ProviderSpec.Region)
	c.checkPlace(what, path.child("zone"), p.ProviderSpec.Zone)
	at := path.child("name")
	if !c.requireText(what, at, p.ProviderSpec.Name) || !c.checkKnown(what, at, p.ProviderSpec.Name, "provider", c.index.providers.names()) {
		return
	}
	provider := c.index.providers.find(p.ProviderSpec.Name)
	ability, known := claudie.FindAbility(provider.Type)
	if !known { // already reported
		return
	}
	if !ability.Nodes {
		c.addf(at, "", "%s: provider %s is of type %s, which has no machines", what, provider.Name, provider.Type)
	}
	if p.Spot && !ability.Spot {
		c.addf(fieldPath(path[:len(path)-1]).child("spot"), "", "%s: provider %s is of type %s, which has no spot machines here", what, provider.Name, provider.Type)
	}
	external, openstack := p.ProviderSpec.ExternalNetworkName != "", provider.Type == "openstack"
	if openstack && !external {
		c.addf(path, "name the network with the public addresses, as Ext-Net", "%s: providerSpec.externalNetworkName is required for openstack", what)
	}
	if external && !openstack {
		c.warnf(path.child("externalNetworkName"), "remove it", "%s: externalNetworkName has no effect: provider %s is of type %s", what, provider.Name, provider.Type)
	}
}

func (c *checker) checkCount(what string, path fieldPath, p *claudie.DynamicPool) {
	a := p.Autoscaler
	switch {
	case a == nil && p.Count == 0 && c.isMisread(path.child("count")):
	case a == nil && p.Count == 0:
		c.addf(path.child("count"), fmt.Sprintf("write a number from 1 to %d", maxNodes), "%s has neither a count nor an autoscaler", what)
	case a == nil && p.Count > maxNodes:
		c.addf(path.child("count"), "make several pools of it", "%s: count is %d, and a pool has at most %d nodes", what, p.Count, maxNodes)
	case a != nil && p.Count != 0:
		c.addf(path.child("count"), "remove one of them; over a count of the base, write count: null", "%s has a count and an autoscaler", what)
	}
	if a == nil {
		return
	}
	at := path.child("autoscaler", "max")
	switch {
	case a.Max == 0 && c.isMisread(at):
	case a.Max == 0:
		c.addf(at, fmt.Sprintf("write a number from 1 to %d", maxNodes), "%s: autoscaler.max is required, and not 0", what)
	case a.Max > maxNodes:
		c.addf(at, "make several pools of it", "%s: autoscaler.max is %d, and a pool has at most %d nodes", what, a.Max, maxNodes)
	case a.Min > a.Max:
		c.addf(path.child("autoscaler", "min"), "", "%s: autoscaler.min is %d, which is more than autoscaler.max, %d", what, a.Min, a.Max)
	}
}

func (c *checker) checkMachine(what string, path fieldPath, p *claudie.DynamicPool) {
	spec := p.MachineSpec
	if spec == nil {
		return
	}
	if (spec.CPUCount == 0) != (spec.Memory == 0) {
		c.addf(path, "write both, or none", "%s: machineSpec has cpuCount or memory alone", what)
	}
	if spec.NvidiaGPU > 0 {
		c.warnf(path.child("nvidiaGpu"), "write nvidiaGpuCount", "%s: machineSpec.nvidiaGpu is the older name of nvidiaGpuCount", what)
	}
	provider := c.index.providers.find(p.ProviderSpec.Name)
	if provider != nil && provider.Type == "gcp" && spec.GPUs() > 0 && spec.NvidiaGPUType == "" {
		c.addf(path, "as nvidia-tesla-t4", "%s: machineSpec.nvidiaGpuType is required for gcp with GPUs", what)
	}
}

// ownLabels are set and used by Claudie.
var ownLabels = []string{"claudie.io/nodepool", "claudie.io/provider", "claudie.io/provider-instance", "claudie.io/node-type", "claudie.io/spot"}

func (c *checker) checkNodeMetadata(what string, path fieldPath, labels, annotations map[string]string, taints []claudie.Taint) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if slices.Contains(ownLabels, key) {
			c.addf(path.child("labels", key), "remove it, or use another label", "%s: the label %s is the one that Claudie knows its nodes by", what, key)
		}
		for _, err := range []error{kubename.CheckLabelKey(key), kubename.CheckLabelValue(labels[key])} {
			if err != nil {
				c.addf(path.child("labels", key), "", "%s: %v", what, err)
			}
		}
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		size += len(key) + len(annotations[key])
		if err := kubename.CheckLabelKey(strings.ToLower(key)); err != nil {
			c.addf(path.child("annotations", key), "", "%s: %q cannot be the key of an annotation", what, key)
		}
	}
	if size > maxAnnotations {
		c.addf(path.child("annotations"), "", "%s: the annotations are %d bytes long, and %d is the limit", what, size, maxAnnotations)
	}
	for i, t := range taints {
		at := path.child("taints", i)
		if slices.ContainsFunc(taints[:i], func(o claudie.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }) {
			c.addf(at, "remove one of them", "%s: the taint %s:%s is written twice", what, t.Key, t.Effect)
		}
		if err := kubename.CheckKey("taint", t.Key); err != nil {
			c.addf(at, "", "%s: taint: %s", what, err)
		}
		if err := kubename.CheckValue("taint", t.Value); err != nil {
			c.addf(at, "", "%s: taint: %s", what, err)
		}
		if !slices.Contains(taintEffects, t.Effect) {
			c.addf(at, "it is NoSchedule, NoExecute or PreferNoSchedule", "%s: the effect of a taint cannot be %q", what, t.Effect)
		}
	}
}

func (c *checker) checkStaticPool(path fieldPath, p *claudie.StaticPool, addresses map[netip.Addr]fieldPath) {
	what := "pool " + p.Name
	switch {
	case len(p.Nodes) == 0:
		c.addf(path, "list them as {endpoint, secretRef}", "%s has no nodes", what)
	case len(p.Nodes) > maxNodes:
		c.addf(path.child("nodes"), "make several pools of it", "%s has %d nodes, and %d is the limit", what, len(p.Nodes), maxNodes)
	}
	for i, n := range p.Nodes {
		at := path.child("nodes", i)
		c.checkSecret(what, at.child("secretRef"), n.SecretRef, claudie.StaticKey)
		if !c.requireText(what, at.child("endpoint"), n.Endpoint) {
			continue
		}
		address, err := claudie.ParseAddress(n.Endpoint)
		if err != nil {
			c.addf(at.child("endpoint"), "write the address that Claudie reaches it at", "%s: endpoint %q is no IP address", what, n.Endpoint)
			continue
		}
		if first, twice := addresses[address]; twice {
			c.addf(at.child("endpoint"), "remove one of them", "%s: the machine %s is written twice, first at %s", what, address, c.object.PositionOf(first...))
			continue
		}
		addresses[address] = at.child("endpoint")
	}
	if written := c.isWritten(path.child("sshPort")); written && (p.SSHPort < 1 || p.SSHPort > maxPort) {
		c.addf(path.child("sshPort"), "", "%s: sshPort is %d; it is 1 to %d", what, p.SSHPort, maxPort)
	}
	c.checkNodeMetadata(what, path, p.Labels, p.Annotations, p.Taints)
}

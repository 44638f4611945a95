package clusters

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

const (
	// firstReserved is the first load balancer port that Claudie reserves.
	firstReserved = 64512
	maxRoles      = 1018
)

func (c *checker) checkRoles() {
	seen, known := map[string]fieldPath{}, c.index.poolNames()
	for i := range c.spec.LoadBalancers.Roles {
		role, path := &c.spec.LoadBalancers.Roles[i], fieldPath{"loadBalancers", "roles", i}
		what := "role " + role.Name
		c.checkWord("role", path.child("name"), role.Name)
		c.checkTwice("role", path.child("name"), role.Name, seen)
		if c.requireText(what, path.child("protocol"), role.Protocol) && role.Protocol != "tcp" && role.Protocol != "udp" {
			c.addf(path.child("protocol"), "it is tcp or udp", "%s: protocol cannot be %q", what, role.Protocol)
		}
		c.checkPort(what, path.child("port"), role.Port, firstReserved-1)
		c.checkPort(what, path.child("targetPort"), role.TargetPort, maxPort)
		if role.IsAPI() && role.Port != claudie.APIPort {
			c.addf(path.child("port"), "write 6443", "%s: targetPort 6443 is the API server, whose port is 6443 too, and not %d", what, role.Port)
		}
		if role.IsAPI() && role.Protocol == "udp" {
			c.addf(path.child("protocol"), "write tcp", "%s: targetPort 6443 is the API server, which does not answer over udp", what)
		}
		if len(role.TargetPools) == 0 {
			c.addf(path, "", "%s: targetPools has no pools", what)
		}
		c.checkNames(what, path.child("targetPools"), role.TargetPools, "pool", known)
		if role.Settings == nil {
			continue
		}
		for _, key := range []string{"proxyProtocol", "stickySessions"} {
			if !c.isWritten(path.child("settings", key)) {
				c.addf(path.child("settings"), "settings has both, or is left out", "%s: settings.%s is required", what, key)
			}
		}
	}
}

func (c *checker) checkPort(what string, path fieldPath, port, last int) {
	switch {
	case port == 0 && c.isMisread(path):
	case port == 0:
		c.addf(path, "", "%s: %s is required, and not 0", what, path)
	case port > maxPort:
		c.addf(path, "", "%s: %s is %d; the last port is %d", what, path, port, maxPort)
	case port > last:
		c.addf(path, "", "%s: %s is %d; Claudie keeps the ports from %d on for itself", what, path, port, firstReserved)
	}
}

func (c *checker) checkLoadBalancers() {
	seen, endpoints := map[string]fieldPath{}, map[string]string{}
	for i := range c.spec.LoadBalancers.Clusters {
		lb, path := &c.spec.LoadBalancers.Clusters[i], fieldPath{"loadBalancers", "clusters", i}
		what := "load balancer " + lb.Name
		c.checkName("load balancer", path.child("name"), lb.Name, maxClusterName)
		c.checkTwice("load balancer", path.child("name"), lb.Name, seen)
		c.checkNames(what, path.child("pools"), lb.Pools, "pool", c.index.poolNames())
		if len(lb.Pools) == 0 {
			c.addf(path, "", "%s has no pools", what)
		}
		if at := path.child("targetedK8s"); c.requireText(what, at, lb.TargetedK8s) {
			c.checkKnown(what, at, lb.TargetedK8s, "cluster", c.index.clusters.names())
		}
		c.checkBalancerRoles(what, path.child("roles"), lb)
		c.checkDNS(what, path.child("dns"), lb)
		if !c.index.hasAPIRole(lb) {
			continue
		}
		if first, twice := endpoints[lb.TargetedK8s]; twice {
			c.addf(path.child("roles"), "a cluster has one endpoint: keep the role with targetPort 6443 on one of them", "%s: cluster %s has another endpoint of its API server, load balancer %s", what, lb.TargetedK8s, first)
		}
		endpoints[lb.TargetedK8s] = lb.Name
	}
}

func (c *checker) checkBalancerRoles(what string, path fieldPath, lb *claudie.LoadBalancer) {
	c.checkNames(what, path, lb.Roles, "role", c.index.roles.names())
	switch {
	case len(lb.Roles) == 0:
		c.addf(path, "", "%s has no roles", what)
	case len(lb.Roles) > maxRoles:
		c.addf(path, "", "%s has %d roles, and %d is the limit", what, len(lb.Roles), maxRoles)
	}
	type listener struct {
		protocol string
		port     int
	}
	listeners := map[listener]string{}
	cluster := c.index.clusters.find(lb.TargetedK8s)
	for i, name := range lb.Roles {
		role := c.index.roles.find(name)
		if role == nil || slices.Contains(lb.Roles[:i], name) {
			continue
		}
		on := listener{role.Protocol, role.Port}
		if first, twice := listeners[on]; twice {
			c.addf(path.child(i), "give one of them another port", "%s: the roles %s and %s both have %s port %d", what, first, name, on.protocol, on.port)
		}
		listeners[on] = name
		if cluster != nil {
			c.checkTargets(what, path.child(i), role, cluster)
		}
	}
}

// checkTargets reports target pools that the cluster lacks or that cannot serve the
// API.
func (c *checker) checkTargets(what string, path fieldPath, role *claudie.Role, cluster *claudie.Cluster) {
	for _, name := range role.TargetPools {
		control := slices.Contains(cluster.Pools.Control, name)
		switch {
		case !c.index.hasPool(name): // already reported
		case !control && !slices.Contains(cluster.Pools.Compute, name):
			c.addf(path, "add the pool to the cluster, or remove it from the role", "%s: role %s targets pool %s, which cluster %s does not have", what, role.Name, name, cluster.Name)
		case !control && role.IsAPI():
			c.addf(path, "the API server runs on control nodes", "%s: role %s targets pool %s, which is no control pool of cluster %s", what, role.Name, name, cluster.Name)
		}
	}
}

func (c *checker) checkDNSName(what string, path fieldPath, name string) {
	if name != "" && kubename.Check(strings.ToLower(strings.TrimPrefix(name, "*."))) != nil {
		c.addf(path, "letters, digits, hyphens and dots", "%s: a DNS name cannot be %q", what, name)
	}
}

func (c *checker) checkDNS(what string, path fieldPath, lb *claudie.LoadBalancer) {
	if at := path.child("dnsZone"); c.requireText(what, at, lb.DNS.Zone) {
		c.checkDNSName(what, at, strings.TrimSuffix(lb.DNS.Zone, "."))
	}
	c.checkDNSName(what, path.child("hostname"), lb.DNS.Hostname)
	if at := path.child("provider"); c.requireText(what, at, lb.DNS.Provider) && c.checkKnown(what, at, lb.DNS.Provider, "provider", c.index.providers.names()) {
		provider := c.index.providers.find(lb.DNS.Provider)
		if ability, known := claudie.FindAbility(provider.Type); known && !ability.DNS {
			c.addf(at, "", "%s: provider %s is of type %s, which has no DNS", what, provider.Name, provider.Type)
		}
	}
	seen := map[string]bool{lb.DNS.Hostname: lb.DNS.Hostname != ""}
	for i, name := range lb.DNS.AlternativeNames {
		at := path.child("alternativeNames", i)
		switch {
		case name == "":
			c.addf(at, "remove it", "%s: an alternative name is empty", what)
		case seen[name]:
			c.addf(at, "remove one of them", "%s: the DNS name %s is written twice", what, name)
		default:
			c.checkDNSName(what, at, name)
		}
		seen[name] = true
	}
	if len(lb.DNS.AlternativeNames) > 0 && c.index.hasAPIRole(lb) {
		c.addf(path.child("alternativeNames"), "move them to another load balancer", "%s: the endpoint of the API server has no alternative names", what)
	}
}

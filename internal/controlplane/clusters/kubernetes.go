package clusters

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const (
	maxClusters = 100
	maxNetwork  = 50
)

// reservedNetworks are networks of every Claudie cluster.
var reservedNetworks = []struct {
	network netip.Prefix
	of      string
	clouds  bool // only of machines in clouds
}{
	{netip.MustParsePrefix("10.244.0.0/16"), "the network of pods", false},
	{netip.MustParsePrefix("10.96.0.0/12"), "the network of services", false},
	{netip.MustParsePrefix("10.0.0.0/16"), "the network of the machines in a cloud", true},
}

func (c *checker) checkClusters() {
	all := c.spec.Kubernetes.Clusters
	if len(all) > maxClusters {
		c.addf(fieldPath{"kubernetes", "clusters", maxClusters}, "make several manifests of it", "there are %d clusters, and %d is the limit", len(all), maxClusters)
	}
	c.checkDialect()
	seen, users := map[string]fieldPath{}, map[string]string{}
	for i := range all {
		cluster, path := &all[i], fieldPath{"kubernetes", "clusters", i}
		what := "cluster " + cluster.Name
		c.checkName("cluster", path.child("name"), cluster.Name, maxClusterName)
		c.checkTwice("cluster", path.child("name"), strings.ToLower(cluster.Name), seen)
		c.checkVersion(what, path.child("version"), cluster.Version)
		c.checkNetwork(what, path.child("network"), cluster)
		c.checkClusterPools(what, path.child("pools"), cluster)
		c.checkStaticUse(what, path.child("pools"), cluster, users)
		if proxy := cluster.InstallationProxy; proxy != nil && hasUserinfo(proxy.Endpoint) {
			c.addf(path.child("installationProxy", "endpoint"), "let the proxy admit the addresses of the nodes, and change the password: it is in the history of the repository", "%s: installationProxy.endpoint has credentials in clear", what)
		}
		if proxy := cluster.InstallationProxy; proxy != nil && !slices.Contains([]string{"on", "off", "default"}, proxy.Mode) {
			c.addf(path.child("installationProxy", "mode"), `it is "on", "off" or "default"`, "%s: installationProxy.mode cannot be %q", what, proxy.Mode)
		}
	}
	c.checkStaticBalancers(users)
}

var versionPattern = regexp.MustCompile(`^v?1\.([0-9]{1,3})\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

var versionWindow = regexp.MustCompile(`^1\.([0-9]{1,3})-1\.([0-9]{1,3})$`)

// The minor versions of Kubernetes of the current Claudie, and of Claudie up to 0.15,
// whose providers have templates.
const (
	firstMinor, lastMinor       = 34, 36
	firstOldMinor, lastOldMinor = 33, 35
)

// versionRange returns the minor versions of Kubernetes that the installed Claudie
// supports, by annotation or else by the manifest's dialect. It is false for an invalid
// annotation.
func (c *checker) versionRange() (first, last int, ok bool) {
	old := slices.ContainsFunc(c.spec.Providers, func(p claudie.Provider) bool { return p.Templates != nil })
	text, annotated := c.object.Annotations[model.VersionsAnnotation]
	switch {
	case !annotated && old:
		return firstOldMinor, lastOldMinor, true
	case !annotated:
		return firstMinor, lastMinor, true
	}
	window := versionWindow.FindStringSubmatch(text)
	if window == nil {
		c.addf(nil, "as 1.34-1.36", "the annotation %s cannot be %q", model.VersionsAnnotation, text)
		return 0, 0, false
	}
	first, _ = strconv.Atoi(window[1]) // it matched
	last, _ = strconv.Atoi(window[2])
	return first, last, true
}

// checkDialect warns if the annotated versions do not fit the Claudie that reads the
// providers' templates.
func (c *checker) checkDialect() {
	text := c.object.Annotations[model.VersionsAnnotation]
	_, last, ok := c.versionRange()
	if text == "" || !ok {
		return
	}
	for i, p := range c.spec.Providers {
		path := fieldPath{"providers", i}
		if p.Templates != nil && last > lastOldMinor {
			c.warnf(path.child("templates"), "write templatesRef for a later Claudie", "provider %s: templates are read by Claudie up to 0.15, which takes Kubernetes 1.%d to 1.%d, and the annotation %s is %s",
				p.Name, firstOldMinor, lastOldMinor, model.VersionsAnnotation, text)
		}
		if p.TemplatesRef != nil && last < lastMinor {
			c.warnf(path.child("templatesRef"), "write templates for Claudie up to 0.15", "provider %s: templatesRef is read by a Claudie that takes Kubernetes 1.%d to 1.%d, and the annotation %s is %s",
				p.Name, firstMinor, lastMinor, model.VersionsAnnotation, text)
		}
	}
}

func (c *checker) checkVersion(what string, path fieldPath, version string) {
	if !c.requireText(what, path, version) {
		return
	}
	found := versionPattern.FindStringSubmatch(version)
	if found == nil {
		c.addf(path, "as 1.36.0", "%s: version %q is no version of Kubernetes", what, version)
		return
	}
	first, last, ok := c.versionRange()
	if !ok {
		return
	}
	if minor, _ := strconv.Atoi(found[1]); minor < first || minor > last {
		other := fmt.Sprintf("1.%d-1.%d", firstOldMinor, lastOldMinor)
		if first == firstOldMinor {
			other = fmt.Sprintf("1.%d-1.%d", firstMinor, lastMinor)
		}
		c.addf(path, fmt.Sprintf("if another version of Claudie is installed, annotate the manifest with %s: %q", model.VersionsAnnotation, other),
			"%s: Claudie takes Kubernetes 1.%d to 1.%d, and not %s", what, first, last, version)
	}
}

func (c *checker) checkNetwork(what string, path fieldPath, cluster *claudie.Cluster) {
	if !c.requireText(what, path, cluster.Network) {
		return
	}
	network, err := netip.ParsePrefix(cluster.Network)
	if err != nil || !network.Addr().Is4() || len(cluster.Network) > maxNetwork {
		c.addf(path, "as 192.168.2.0/24", "%s: network %q is no range of IPv4 addresses", what, cluster.Network)
		return
	}
	nodes, dynamic := c.countNodes(cluster)
	for _, r := range reservedNetworks {
		if (dynamic || !r.clouds) && r.network.Overlaps(network) {
			c.addf(path, "take another one, as 192.168.2.0/24: it cannot be changed later", "%s: network %s overlaps with %s, %s", what, cluster.Network, r.network, r.of)
		}
	}
	if room := 1 << (32 - network.Bits()); nodes+2 > room {
		c.addf(path, "take a larger one: it cannot be changed later", "%s: network %s has %d addresses, and the nodes of the cluster and of its load balancers take up to %d", what, cluster.Network, room, nodes+2)
	}
}

func (c *checker) countNodes(cluster *claudie.Cluster) (most int, dynamic bool) {
	pools := slices.Concat(cluster.Pools.Control, cluster.Pools.Compute)
	for _, lb := range c.index.balancers[cluster.Name] {
		pools = append(pools, lb.Pools...)
	}
	for _, name := range pools {
		_, n := c.index.countNodes(name)
		most += n
		dynamic = dynamic || c.index.dynamic.find(name) != nil
	}
	return most, dynamic
}

func (c *checker) checkClusterPools(what string, path fieldPath, cluster *claudie.Cluster) {
	known := c.index.poolNames()
	c.checkNames(what, path.child("control"), cluster.Pools.Control, "pool", known)
	c.checkNames(what, path.child("compute"), cluster.Pools.Compute, "pool", known)
	if len(cluster.Pools.Control) == 0 {
		c.addf(path, "", "%s: pools.control has no pool", what)
		return
	}
	fewest, most := 0, 0
	for i, name := range cluster.Pools.Control {
		low, high := c.index.countNodes(name)
		fewest, most = fewest+low, most+high
		if p := c.index.dynamic.find(name); p != nil && p.Spot {
			c.addf(path.child("control", i), "a cloud takes spot machines away at any time", "%s: pool %s is of spot machines, and cannot be a control pool", what, name)
		}
	}
	if fewest == 0 && most > 0 {
		c.addf(path.child("control"), "write 1 or more as autoscaler.min of one of them", "%s may have no control node: the autoscaler may remove all of them", what)
	}
	if fewest == most && fewest > 0 && fewest%2 == 0 {
		c.warnf(path.child("control"), "make it an odd number", "%s has %d control nodes: etcd is as safe with %d", what, fewest, fewest-1)
	}
}

func (c *checker) checkStaticUse(what string, path fieldPath, cluster *claudie.Cluster, users map[string]string) {
	for _, list := range []struct {
		key   string
		names []string
	}{{"control", cluster.Pools.Control}, {"compute", cluster.Pools.Compute}} {
		for i, name := range list.names {
			if c.index.static.find(name) == nil || slices.Contains(list.names[:i], name) {
				continue
			}
			if user, used := users[name]; used && user != what {
				c.addf(path.child(list.key, i), "make two pools of it", "%s: the static pool %s is of %s too", what, name, user)
			} else if used {
				c.addf(path.child(list.key, i), "remove it from one of them", "%s: the static pool %s is in control and in compute", what, name)
			}
			users[name] = what
		}
	}
}

func (c *checker) checkStaticBalancers(users map[string]string) {
	for i := range c.spec.LoadBalancers.Clusters {
		lb := &c.spec.LoadBalancers.Clusters[i]
		for k, name := range lb.Pools {
			if c.index.static.find(name) == nil || slices.Contains(lb.Pools[:k], name) {
				continue
			}
			if user, used := users[name]; used {
				c.addf(fieldPath{"loadBalancers", "clusters", i, "pools", k}, "make two pools of it", "load balancer %s: the static pool %s is of %s too", lb.Name, name, user)
			}
			users[name] = "load balancer " + lb.Name
		}
	}
}

// hasUserinfo accepts URLs without a scheme.
func hasUserinfo(text string) bool {
	_, rest, found := strings.Cut(text, "://")
	if !found {
		rest = text
	}
	authority, _, _ := strings.Cut(rest, "/")
	return strings.Contains(authority, "@")
}

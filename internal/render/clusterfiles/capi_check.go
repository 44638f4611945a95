package clusterfiles

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const claudieHint = "or remove the annotation " + model.ExecutorAnnotation + ": Claudie can"

// capiSettings are settings without a field in the manifest, by "provider.name".
type capiSettings map[string]string

// projectSetting is a provider's project in Google Cloud. Only the cloud reads it from
// the Secret.
const projectSetting = "project"

var projectName = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)

func readCAPISettings(m *clusters.Manifest) (settings capiSettings, wrong []string) {
	settings = capiSettings{}
	text := strings.ReplaceAll(m.Annotations[model.CAPISettingsAnnotation], ",", " ")
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		name, setting, _ := strings.Cut(key, ".")
		if m.Spec.FindProvider(name) == nil && !slices.Contains(m.UnusedProviders, name) || setting != projectSetting || !projectName.MatchString(value) {
			wrong = append(wrong, word)
			continue
		}
		settings[key] = value
	}
	return settings, wrong
}

type capiCheck struct {
	*renderer
	m        *clusters.Manifest
	i        int // of the cluster
	u        *clusters.Unit
	provider *claudie.Provider
	cloud    *infrastructure
}

func (r *renderer) checkCAPI(m *clusters.Manifest) {
	settings, wrong := readCAPISettings(m)
	hint := "remove it: only providers of type gcp in spec.providers have a setting, their project"
	if i := slices.IndexFunc(m.Spec.Providers, func(p claudie.Provider) bool { return p.Type == "gcp" }); i >= 0 {
		name := m.Spec.Providers[i].Name
		hint = fmt.Sprintf("write %s.project=ID, for the provider %s of spec.providers and the id of its project in Google Cloud, as acme-dev", name, name)
	}
	for _, word := range wrong {
		r.problems.Addf(m.Pos, m.Subject(), hint, "the annotation %s cannot have %q", model.CAPISettingsAnnotation, word)
	}
	for i := range m.Spec.Providers {
		if p := &m.Spec.Providers[i]; p.TemplatesRef != nil || p.Templates != nil {
			r.problems.Addf(m.PositionOf("providers", i), m.Subject(), "remove them, "+claudieHint, "provider %s names templates, which Cluster API does not use", p.Name)
		}
	}
	for i, u := range m.Units {
		c := &capiCheck{renderer: r, m: m, i: i, u: u}
		if c.checkPools() && c.checkProvider(settings) {
			c.checkRegions()
			c.checkMachines()
		}
		c.checkControlPlane()
		c.checkRest()
		c.checkNames()
	}
}

func (c *capiCheck) addf(path []any, hint, format string, args ...any) {
	c.problems.Addf(c.m.PositionOf(path...), c.m.Subject(), hint+", "+claudieHint, "cluster "+c.u.Name+": "+format, args...)
}

func (c *capiCheck) path(keys ...any) []any {
	return append([]any{"kubernetes", "clusters", c.i}, keys...)
}

type poolUse struct {
	name    string
	path    []any
	dynamic *claudie.DynamicPool
	i       int // of the dynamic pool
	compute bool
}

func (c *capiCheck) uses() []poolUse {
	var all []poolUse
	for _, list := range []struct {
		key   string
		names []string
	}{{"control", c.u.Pools.Control}, {"compute", c.u.Pools.Compute}} {
		for k, name := range list.names {
			i := slices.IndexFunc(c.m.Spec.NodePools.Dynamic, func(p claudie.DynamicPool) bool { return p.Name == name })
			use := poolUse{name: name, path: c.path("pools", list.key, k), i: i, compute: list.key == "compute"}
			if i >= 0 {
				use.dynamic = &c.m.Spec.NodePools.Dynamic[i]
			}
			all = append(all, use)
		}
	}
	return all
}

// checkPools reports static machines and several providers, and returns whether a
// single provider has all pools.
func (c *capiCheck) checkPools() bool {
	sound := true
	providers := map[string]bool{}
	for _, use := range c.uses() {
		switch {
		case use.dynamic != nil:
			providers[use.dynamic.ProviderSpec.Name] = true
		case c.m.Spec.FindStaticPool(use.name) != nil:
			c.addf(use.path, "use a pool whose machines a cloud makes", "pool %s is static: Cluster API makes machines, and takes none that exist", use.name)
			sound = false
		default: // already reported
			sound = false
		}
	}
	if names := slices.Sorted(maps.Keys(providers)); len(names) > 1 {
		c.addf(c.path("pools"), "use pools of one provider", "it uses the providers %s: Cluster API makes a cluster with one", strings.Join(names, " and "))
		sound = false
	} else if len(names) == 1 {
		c.provider = c.m.Spec.FindProvider(names[0])
	}
	return sound && c.provider != nil
}

// checkProvider reports a provider that Cluster API cannot use, and returns whether it
// can.
func (c *capiCheck) checkProvider(settings capiSettings) bool {
	p := c.provider
	at := slices.IndexFunc(c.m.Spec.Providers, func(o claudie.Provider) bool { return o.Name == p.Name })
	c.cloud = infrastructures[p.Type]
	if c.cloud == nil {
		if _, known := claudie.FindAbility(p.Type); known {
			r, listed := unrendered[p.Type]
			if !listed {
				r.reason = "Cluster API has no provider for it"
			}
			c.addf([]any{"providers", at, "providerType"}, cmp.Or(r.hint, "use a provider of type "+strings.Join(renderedClouds(), ", ")), "provider %s is of type %s: %s", p.Name, p.Type, r.reason)
		}
		return false
	}
	secret, namespace := p.SecretRef, c.cloud.secretNamespace
	if namespace == "" {
		namespace = c.m.Namespace
	}
	if namespace != anyNamespace && secret.Namespace != "" && secret.Namespace != namespace {
		c.addf([]any{"providers", at, "secretRef"}, "move the Secret to the namespace "+namespace, "Cluster API reads the Secret of provider %s in the namespace %s, and it is in %s", p.Name, namespace, secret.Namespace)
	}
	for _, key := range c.missingKeys(secret.Namespace + "/" + secret.Name) {
		c.addf([]any{"providers", at, "secretRef"}, "add it to the Secret", "Cluster API needs the key %s, which the Secret of provider %s does not have", key, p.Name)
	}
	if c.cloud.needsProject && settings[p.Name+"."+projectSetting] == "" {
		c.addf([]any{"providers", at}, fmt.Sprintf("annotate the manifest with %s: %s.project=NAME", model.CAPISettingsAnnotation, p.Name), "the project of provider %s is not written, and Cluster API needs it outside of the Secret", p.Name)
	}
	return true
}

// unrendered are known types of providers that are not rendered, with reasons and hints
// other than to use another provider.
var unrendered = map[string]struct{ reason, hint string }{
	"azure":    {reason: "Cluster API's provider for Azure needs the client, the tenant and the subscription in its objects in clear, and a manifest has them in a Secret only"},
	"oci":      {reason: "Cluster API's provider for Oracle Cloud needs the compartment in its objects in clear, and a manifest has it in a Secret only"},
	"exoscale": {reason: "the provider of Cluster API for Exoscale is made by others, and Fairlead does not render its objects"},
	"ovh": {
		"Cluster API makes machines of OVHcloud by its provider for OpenStack",
		"describe it as a provider of type openstack, with the clouds.yaml of OVHcloud in its Secret",
	},
}

func (c *capiCheck) missingKeys(secret string) []string {
	i := slices.IndexFunc(c.model.Clusters.Credentials, func(o *model.Credential) bool { return o.Path() == secret })
	if i < 0 || c.model.Clusters.Credentials[i].Keys == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.cloud.secretKeys), func(key string) bool {
		return slices.Contains(c.model.Clusters.Credentials[i].Keys, key)
	})
}

// checkRegions reports regions without a common network, and zones that cannot be
// chosen.
func (c *capiCheck) checkRegions() {
	var first, external *poolUse
	uses := c.uses()
	for k := range uses {
		use := &uses[k]
		spec := use.dynamic.ProviderSpec
		field := func(key string) []any { return []any{"nodePools", "dynamic", use.i, "providerSpec", key} }
		network := c.cloud.network(spec.Region)
		switch {
		case spec.Region == "": // already reported
		case network == "":
			c.addf(field("region"), "choose "+strings.Join(slices.Sorted(maps.Keys(hetznerZones)), ", "), "pool %s: the region %s is not known", use.name, spec.Region)
		case first == nil:
			first = use
		case network != c.cloud.network(first.dynamic.ProviderSpec.Region):
			c.addf(field("region"), "use pools of one region", "pool %s is in %s, and pool %s in %s: Cluster API makes a cluster in one network", use.name, spec.Region, first.name, first.dynamic.ProviderSpec.Region)
		}
		if spec.Zone != "" && (c.provider.Type == "hetzner" || !use.compute && !c.cloud.zonedControl) {
			c.problems.Warnf(c.m.PositionOf(field("zone")...), c.m.Subject(), "", "cluster %s: Cluster API does not take the zone %s of pool %s: it chooses among those of %s", c.u.Name, spec.Zone, use.name, spec.Region)
		}
		if !c.cloud.needsExternalNetwork {
			continue
		}
		switch {
		case spec.ExternalNetworkName == "":
			c.addf([]any{"nodePools", "dynamic", use.i, "providerSpec"}, "write it", "pool %s: externalNetworkName is required", use.name)
		case external == nil:
			external = use
		case external.dynamic.ProviderSpec.ExternalNetworkName != spec.ExternalNetworkName:
			c.addf(field("externalNetworkName"), "use one network", "pool %s: a cluster of Cluster API is reached by one network, and pool %s has %s", use.name, external.name, external.dynamic.ProviderSpec.ExternalNetworkName)
		}
	}
}

func (c *capiCheck) checkMachines() {
	for _, use := range c.uses() {
		p := use.dynamic
		refuse := func(field, hint, format string, args ...any) {
			c.addf([]any{"nodePools", "dynamic", use.i, field}, hint, "pool "+p.Name+": "+format, args...)
		}
		if p.Spot && !c.cloud.spot {
			refuse("spot", "remove it", "Cluster API makes no spot machines with a provider of type %s", c.provider.Type)
		}
		if writtenDisk(p, use.compute) > 0 && !c.cloud.disks {
			refuse("storageDiskSize", "remove it", "Cluster API gives machines no second disk with a provider of type %s", c.provider.Type)
		}
		if s := p.MachineSpec; s != nil && (s.CPUCount > 0 || s.Memory > 0) {
			refuse("machineSpec", "choose a serverType that has them", "Cluster API takes the processors and the memory of the serverType")
		}
		switch gpus := p.MachineSpec.GPUs(); {
		case gpus > 0 && !c.cloud.gpus:
			refuse("machineSpec", "remove them", "Cluster API makes no machines with GPUs with a provider of type %s", c.provider.Type)
		case gpus > 0 && c.provider.Type == "gcp" && p.ProviderSpec.Zone == "":
			refuse("providerSpec", "write providerSpec.zone", "Google Cloud has GPUs in a zone, and none is written")
		}
		for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
			if !isSyncedLabel(key) && !isKubeletLabel(key) {
				refuse("labels", "use another label", "nodes cannot register with the label %s", key)
			}
		}
		if len(p.Annotations) > 0 {
			c.problems.Warnf(c.m.PositionOf("nodePools", "dynamic", use.i, "annotations"), c.m.Subject(), "run its core controller with that flag",
				"cluster %s: Cluster API puts the annotations of pool %s on its nodes only with --additional-sync-machine-annotations", c.u.Name, p.Name)
		}
	}
}

func (c *capiCheck) checkControlPlane() {
	path := c.path("pools", "control")
	if n := len(c.u.Pools.Control); n != 1 {
		if n > 1 {
			c.addf(path, "use one", "it has %d control pools, and a control plane of Cluster API has one", n)
		}
		return
	}
	i := slices.IndexFunc(c.m.Spec.NodePools.Dynamic, func(p claudie.DynamicPool) bool { return p.Name == c.u.Pools.Control[0] })
	if i < 0 {
		return
	}
	switch p := &c.m.Spec.NodePools.Dynamic[i]; {
	case p.Autoscaler != nil:
		c.addf([]any{"nodePools", "dynamic", i, "autoscaler"}, "write a count", "pool %s: a control plane of Cluster API is not autoscaled", p.Name)
	case p.Count%2 == 0 && p.Count > 0:
		c.addf([]any{"nodePools", "dynamic", i, "count"}, "make it an odd number", "pool %s has %d nodes: Cluster API takes no even number of control nodes", p.Name, p.Count)
	}
}

// checkRest reports load balancers and proxies, which Cluster API lacks.
func (c *capiCheck) checkRest() {
	for _, lb := range c.u.LoadBalancers {
		i := slices.IndexFunc(c.m.Spec.LoadBalancers.Clusters, func(o claudie.LoadBalancer) bool { return o.Name == lb.Name })
		c.addf([]any{"loadBalancers", "clusters", i}, "remove it: the cloud balances the API server, and Services of type LoadBalancer", "Cluster API has no load balancers with roles and DNS names, as %s", lb.Name)
	}
	if proxy := c.u.InstallationProxy; proxy != nil && proxy.Mode == "on" {
		c.addf(c.path("installationProxy"), "remove it", "Cluster API has no installation proxy")
	}
}

func (c *capiCheck) checkNames() {
	if c.taken == nil {
		c.taken = map[string]string{}
	}
	take := func(path []any, kind, name, what string) {
		key := kind + " " + c.m.Namespace + "/" + name
		if first, twice := c.taken[key]; twice {
			c.addf(path, "rename one of them", "%s and %s would both be the %s %s", what, first, kind, name)
			return
		}
		c.taken[key] = what + " of " + c.m.Subject()
	}
	take(c.path("name"), "Cluster", c.u.Name, "cluster "+c.u.Name)
	for k, name := range c.u.Pools.Compute {
		take(c.path("pools", "compute", k), "MachineDeployment", c.u.Name+"-"+name, "pool "+name+" of cluster "+c.u.Name)
	}
}

func labelDomain(key string) string {
	domain, _, there := strings.Cut(key, "/")
	if !there {
		return ""
	}
	return domain
}

func isBelow(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }

func isSyncedLabel(key string) bool {
	domain := labelDomain(key)
	return domain == "node-role.kubernetes.io" || isBelow(domain, "node-restriction.kubernetes.io") || isBelow(domain, "node."+capiCoreGroup)
}

func isKubeletLabel(key string) bool {
	domain := labelDomain(key)
	if !isBelow(domain, "kubernetes.io") && !isBelow(domain, "k8s.io") {
		return true
	}
	return isBelow(domain, "kubelet.kubernetes.io") || isBelow(domain, "node.kubernetes.io") || slices.Contains([]string{
		"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
	}, key)
}

package clusters

import (
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// owner is a manifest that has something that there is once, and where it says so.
type owner struct {
	environment string
	manifest    *model.InputManifest
	pos         problem.Pos
}

// registry is what manifests have that there is once.
type registry struct {
	environment string
	// across has only what is of two environments reported: the rest was before.
	across   bool
	machines map[netip.Addr]owner
	names    map[string]owner // of DNS
	problems problem.List
}

func newRegistry() *registry {
	return &registry{machines: map[netip.Addr]owner{}, names: map[string]owner{}}
}

// checkAcross reports what two manifests of an environment cannot both have.
func (r *resolver) checkAcross(all []*Manifest) {
	g, projects := newRegistry(), map[string]*Manifest{}
	for _, m := range all {
		first := projects[m.Project()]
		if first != nil {
			r.problems.Addf(m.Pos, m.Subject(), "rename one of them", "Claudie calls this manifest %s, and the one at %s too", m.Project(), first.Pos)
		}
		projects[m.Project()] = m
		g.addManifest(m.InputManifest)
	}
	r.problems = append(r.problems, g.problems...)
}

// CheckEnvironments reports what the manifests of two environments cannot both have: machines and DNS
// names. The problems are by the name of the environment whose model comes later.
func CheckEnvironments(models []*model.Model) map[string]problem.List {
	g, problems := newRegistry(), map[string]problem.List{}
	g.across = true
	for _, m := range models {
		g.environment, g.problems = m.Environment, nil
		for _, manifest := range m.Clusters.Manifests {
			g.addManifest(manifest)
		}
		if len(g.problems) > 0 {
			problems[m.Environment] = g.problems
		}
	}
	return problems
}

// ListUnique returns what a manifest has that there is once: the addresses of machines, and DNS names.
func ListUnique(spec *claudie.Spec) []string {
	var all []string
	for _, p := range spec.NodePools.Static {
		for _, n := range p.Nodes {
			if address, err := netip.ParseAddr(n.Endpoint); err == nil {
				all = append(all, address.String())
			}
		}
	}
	for _, lb := range spec.LoadBalancers.Clusters {
		for _, name := range append([]string{lb.DNS.Hostname}, lb.DNS.AlternativeNames...) {
			if full := joinDNSName(name, lb.DNS.Zone); full != "" {
				all = append(all, full)
			}
		}
	}
	return all
}

// joinDNSName returns a name in a zone; "" if either is not written.
func joinDNSName(name, zone string) string {
	if name == "" || zone == "" {
		return ""
	}
	return strings.ToLower(name + "." + strings.TrimSuffix(zone, "."))
}

// addManifest reports what a manifest has and an earlier one has too.
func (g *registry) addManifest(m *model.InputManifest) {
	for i, p := range m.Spec.NodePools.Static {
		for k, n := range p.Nodes {
			address, err := netip.ParseAddr(n.Endpoint)
			if err != nil { // it was reported
				continue
			}
			pos := m.PositionOf("nodePools", "static", i, "nodes", k, "endpoint")
			first, twice := g.machines[address]
			switch {
			case !twice:
				g.machines[address] = owner{g.environment, m, pos}
			case first.manifest.Written() != m.Written() && g.reports(first): // within one manifest it was reported
				g.problems.Addf(pos, m.Subject(), "a machine is in one cluster: remove one of them", "pool %s: the machine %s is in %s too, at %s", p.Name, address, g.describe(first), first.pos)
			}
		}
	}
	g.addNames(m)
}

// reports reports whether it is for this registry to report what an owner has too.
func (g *registry) reports(o owner) bool { return (o.environment != g.environment) == g.across }

// describe names the manifest of an owner.
func (g *registry) describe(o owner) string {
	if o.environment != g.environment {
		return o.manifest.Subject() + " of environment " + o.environment
	}
	return o.manifest.Subject()
}

// addNames reports DNS names that an earlier load balancer has too.
func (g *registry) addNames(m *model.InputManifest) {
	for i, lb := range m.Spec.LoadBalancers.Clusters {
		mine := map[string]bool{}
		for k, name := range append([]string{lb.DNS.Hostname}, lb.DNS.AlternativeNames...) {
			full := joinDNSName(name, lb.DNS.Zone)
			if full == "" || mine[full] {
				continue
			}
			mine[full] = true
			pos := m.PositionOf("loadBalancers", "clusters", i, "dns", "hostname")
			if k > 0 {
				pos = m.PositionOf("loadBalancers", "clusters", i, "dns", "alternativeNames", k-1)
			}
			first, twice := g.names[full]
			if twice && g.reports(first) {
				g.problems.Addf(pos, m.Subject(), "a DNS name leads to one load balancer: choose another one", "load balancer %s: the DNS name %s is of %s too, at %s", lb.Name, full, g.describe(first), first.pos)
			}
			if twice {
				continue
			}
			g.names[full] = owner{g.environment, m, pos}
		}
	}
}

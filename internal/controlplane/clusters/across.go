package clusters

import (
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// owner is a manifest that has something that there is once, and where it says so.
type owner struct {
	manifest *Manifest
	pos      problem.Pos
}

// checkAcross reports what two manifests cannot both have.
func (r *resolver) checkAcross(all []*Manifest) {
	machines, names, projects := map[netip.Addr]owner{}, map[string]owner{}, map[string]*Manifest{}
	for _, m := range all {
		if first := projects[m.Project()]; first != nil {
			r.problems.Addf(m.Pos, m.Subject(), "rename one of them", "Claudie calls this manifest %s, and the one at %s too", m.Project(), first.Pos)
		}
		projects[m.Project()] = m
		r.checkMachines(m, machines)
		r.checkDNSNames(m, names)
	}
}

// checkMachines reports static machines that another manifest has.
func (r *resolver) checkMachines(m *Manifest, machines map[netip.Addr]owner) {
	for i, p := range m.Spec.NodePools.Static {
		for k, n := range p.Nodes {
			address, err := netip.ParseAddr(n.Endpoint)
			if err != nil { // it was reported
				continue
			}
			pos := m.PositionOf("nodePools", "static", i, "nodes", k, "endpoint")
			first, twice := machines[address]
			switch {
			case !twice:
				machines[address] = owner{m, pos}
			case first.manifest != m: // within one manifest it was reported
				r.problems.Addf(pos, m.Subject(), "a machine is in one cluster: remove one of them", "pool %s: the machine %s is in %s too, at %s", p.Name, address, first.manifest.Subject(), first.pos)
			}
		}
	}
}

// checkDNSNames reports DNS names that two load balancers have.
func (r *resolver) checkDNSNames(m *Manifest, names map[string]owner) {
	for i, lb := range m.Spec.LoadBalancers.Clusters {
		mine := map[string]bool{}
		for k, name := range append([]string{lb.DNS.Hostname}, lb.DNS.AlternativeNames...) {
			full := strings.ToLower(name + "." + strings.TrimSuffix(lb.DNS.Zone, "."))
			if name == "" || lb.DNS.Zone == "" || mine[full] {
				continue
			}
			mine[full] = true
			pos := m.PositionOf("loadBalancers", "clusters", i, "dns", "hostname")
			if k > 0 {
				pos = m.PositionOf("loadBalancers", "clusters", i, "dns", "alternativeNames", k-1)
			}
			if first, twice := names[full]; twice {
				r.problems.Addf(pos, m.Subject(), "a DNS name leads to one load balancer: choose another one", "load balancer %s: the DNS name %s is written at %s too", lb.Name, full, first.pos)
				continue
			}
			names[full] = owner{m, pos}
		}
	}
}

package claudie

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Unique is something of a manifest that there is once: a static machine, or a DNS name.
type Unique struct {
	Name  string // the address, or the full name in lower case
	IsDNS bool
	// Owner is the static pool or the load balancer that has it, and Cluster what that load balancer targets.
	Owner, Cluster string
	Path           []any // of the field
}

// String returns how a sentence names it.
func (u Unique) String() string {
	if u.IsDNS {
		return "the DNS name " + u.Name
	}
	return "the machine " + u.Name
}

// ListUnique returns what there is once, in the order of the manifest. What is not valid is left out.
func (s *Spec) ListUnique() []Unique {
	var all []Unique
	for i, p := range s.NodePools.Static {
		for k, n := range p.Nodes {
			if address, err := ParseAddress(n.Endpoint); err == nil {
				all = append(all, Unique{Name: address.String(), Owner: "pool " + p.Name, Path: []any{"nodePools", "static", i, "nodes", k, "endpoint"}})
			}
		}
	}
	for i, lb := range s.LoadBalancers.Clusters {
		for k, name := range append([]string{lb.DNS.Hostname}, lb.DNS.AlternativeNames...) {
			if name == "" || lb.DNS.Zone == "" {
				continue
			}
			path := []any{"loadBalancers", "clusters", i, "dns", "hostname"}
			if k > 0 {
				path = []any{"loadBalancers", "clusters", i, "dns", "alternativeNames", k - 1}
			}
			full := strings.ToLower(name + "." + strings.TrimSuffix(lb.DNS.Zone, "."))
			all = append(all, Unique{Name: full, IsDNS: true, Owner: "load balancer " + lb.Name, Cluster: lb.TargetedK8s, Path: path})
		}
	}
	return all
}

// ParseAddress parses the address of a static machine: an IPv4 address within IPv6 is that IPv4 address.
func ParseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("parse the address of a machine: %w", err)
	}
	if address.Zone() != "" {
		return netip.Addr{}, errors.New("the address of a machine has a zone")
	}
	return address.Unmap(), nil
}

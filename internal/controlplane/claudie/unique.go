package claudie

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Unique is a static machine or DNS name, which only one manifest can have.
type Unique struct {
	Name  string // address, or full name in lower case
	IsDNS bool
	// Owner is the static pool or load balancer, and Cluster the load balancer's
	// target.
	Owner, Cluster string
	Path           []any // of the field
}

// String names it in a sentence.
func (u Unique) String() string {
	if u.IsDNS {
		return "the DNS name " + u.Name
	}
	return "the machine " + u.Name
}

// ListUnique returns the valid machines and DNS names, in the order of the manifest.
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

// ParseAddress parses the address of a static machine. It unmaps IPv4 addresses in
// IPv6.
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

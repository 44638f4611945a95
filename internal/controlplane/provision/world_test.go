package provision_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// world makes states of one manifest at random. A pool of one name is made of the same machines in all of
// them, as Claudie wants it.
type world struct {
	random   *rand.Rand
	executor string
	serves   []int // which role of each cluster forwards to its API server; 3 for none
}

var (
	worldProviders = []claudie.Provider{
		{Name: "aws-1", Type: "aws"}, {Name: "htz-1", Type: "hetzner"}, {Name: "gcp-1", Type: "gcp"}, {Name: "dns-1", Type: "cloudflare"},
	}
	worldClusters = []string{"c1", "c2"}
	worldPools    = []string{"p1", "p2", "p3", "p4", "p5", "p6"}
)

func newWorld(random *rand.Rand) *world {
	return &world{random, "claudie", []int{random.IntN(4), random.IntN(4)}}
}

func (w *world) chance(percent int) bool { return w.random.IntN(100) < percent }

// pick returns some of all, in an order of its own.
func (w *world) pick(all []string, fewest, most int) []string {
	picked := slices.Clone(all)
	w.random.Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
	return picked[:min(len(picked), fewest+w.random.IntN(most-fewest+1))]
}

func (w *world) newState() provision.State {
	s := provision.State{Namespace: "e2e", Name: "m", Executor: w.executor, Templates: map[string]string{}, ClusterTypes: map[string]string{}}
	for _, p := range worldProviders {
		s.Templates[p.Name] = fmt.Sprintf("v%d", w.random.IntN(3)/2)
		p.SecretRef.Name = fmt.Sprintf("secret-%d", w.random.IntN(8)/7)
		s.Spec.Providers = append(s.Spec.Providers, p)
	}
	for i, name := range worldPools {
		s.Spec.NodePools.Dynamic = append(s.Spec.NodePools.Dynamic, w.newPool(name, worldProviders[i%3].Name))
	}
	for i, name := range worldClusters {
		if w.chance([]int{10, 60}[i]) {
			continue
		}
		w.addCluster(&s, i, name)
	}
	return s
}

func (w *world) newPool(name, provider string) claudie.DynamicPool {
	p := claudie.DynamicPool{Name: name, ProviderSpec: claudie.ProviderSpec{Name: provider, Region: "r"}, ServerType: "s", Image: "i"}
	p.Count = 1 + w.random.IntN(4)
	if w.chance(25) {
		p.Count, p.Autoscaler = 0, &claudie.Autoscaler{Min: 1 + w.random.IntN(3), Max: 3 + w.random.IntN(3)}
	}
	if w.chance(30) {
		p.Labels = map[string]string{"a": fmt.Sprint(w.random.IntN(2))}
	}
	if w.chance(20) {
		p.Taints = []claudie.Taint{{Key: "k", Effect: []string{"NoExecute", "NoSchedule"}[w.random.IntN(2)]}}
	}
	return p
}

func (w *world) addCluster(s *provision.State, number int, name string) {
	c := claudie.Cluster{Name: name, Network: "192.168.2.0/24", Version: fmt.Sprintf("1.%d.0", 34+w.random.IntN(2))}
	c.Pools.Control = w.pick(worldPools, 1, 3)
	c.Pools.Compute = w.pick(worldPools, 0, 4)
	if w.executor == "capi" {
		c.Pools.Control = c.Pools.Control[:1]
	}
	for role, list := range []*[]string{&c.Pools.Control, &c.Pools.Compute} {
		if !w.chance(30) || w.executor == "capi" {
			continue
		}
		p := claudie.StaticPool{Name: fmt.Sprintf("%s-own-%d", name, role)}
		for i := range 4 {
			if i == 3 && len(p.Nodes) == 0 || w.chance(50) {
				p.Nodes = append(p.Nodes, claudie.StaticNode{Endpoint: fmt.Sprintf("192.0.2.%d", 1+100*number+10*role+i)})
			}
		}
		s.Spec.NodePools.Static = append(s.Spec.NodePools.Static, p)
		*list = slices.Insert(*list, w.random.IntN(len(*list)+1), p.Name)
	}
	if w.chance(30) {
		c.InstallationProxy = &claudie.InstallationProxy{Mode: []string{"on", "off", "default"}[w.random.IntN(3)], NoProxy: []string{"", "x"}[w.random.IntN(2)]}
	}
	if w.chance(60) {
		s.ClusterTypes[name] = []string{"small", "large"}[w.random.IntN(2)]
	}
	s.Spec.Kubernetes.Clusters = append(s.Spec.Kubernetes.Clusters, c)
	if w.executor != "capi" {
		w.addBalancers(s, &c, w.serves[number])
	}
}

// addBalancers adds load balancers, at most one of which serves the API server.
func (w *world) addBalancers(s *provision.State, c *claudie.Cluster, serves int) {
	all := append(slices.Clone(c.Pools.Control), c.Pools.Compute...)
	slices.Sort(all)
	all = slices.Compact(all)
	var names []string
	for i := range 3 {
		role := claudie.Role{Name: fmt.Sprintf("%s-role-%d", c.Name, i), Protocol: "tcp", Port: 400 + w.random.IntN(2), TargetPort: 300 + w.random.IntN(2), TargetPools: w.pick(all, 1, 3)}
		if w.chance(30) {
			role.Settings = &claudie.RoleSettings{ProxyProtocol: w.chance(50), StickySessions: w.chance(50)}
		}
		if i == serves {
			role.Port, role.TargetPort, role.TargetPools = claudie.APIPort, claudie.APIPort, w.pick(c.Pools.Control, 1, 2)
		} else {
			names = append(names, role.Name)
		}
		s.Spec.LoadBalancers.Roles = append(s.Spec.LoadBalancers.Roles, role)
	}
	api := fmt.Sprintf("%s-role-%d", c.Name, serves)
	for i := range w.random.IntN(4) {
		lb := claudie.LoadBalancer{Name: fmt.Sprintf("%s-lb-%d", c.Name, w.random.IntN(2)*10+i), TargetedK8s: c.Name, Roles: w.pick(names, 0, 2), Pools: w.pick(worldPools, 1, 2)}
		lb.DNS = claudie.DNS{Provider: "dns-1", Zone: []string{"a", "b"}[w.random.IntN(5)/4], Hostname: []string{"", "h"}[w.random.IntN(5)/4]}
		if serves < 3 && (w.chance(50) || len(lb.Roles) == 0) {
			lb.Roles, serves = append(lb.Roles, api), 3
		}
		s.Spec.LoadBalancers.Clusters = append(s.Spec.LoadBalancers.Clusters, lb)
	}
}

// Package clustermodule generates the root modules by which tofu-controller makes the
// clusters of a manifest: one for each network, pool, load balancer, DNS name and
// bootstrap, which calls a module of the team.
//
// A part depends only on what is written about it and on the names of parts that it
// reads: changing a pool changes its own root module only. Dependencies have no
// circles, and parts read outputs of dependencies only. Credentials are variables from
// Secrets, never in a root module. Names are stable when something else changes.
package clustermodule

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// Part is what one Terraform object makes.
type Part struct {
	// Name is the name of objects. Title is human-readable: cluster/kind/name.
	Name, Title string
	// After are parts that must be ready first.
	After []*Part
	// Outputs are outputs of the root module, written to OutputsSecret.
	Outputs       []string
	OutputsSecret string

	kind      kind
	module    model.ClusterModule
	field     []any // in the ClusterModules, of the module
	pos       []any // in the manifest, of the part
	arguments []argument
	variables []variable
}

type kind struct {
	name    string // of the calling block
	outputs []string
}

// The kinds of modules.
var (
	networkKind      = kind{"network", []string{"network"}}
	poolKind         = kind{"pool", []string{"nodes"}}
	dnsKind          = kind{"dns", []string{"endpoint"}}
	bootstrapKind    = kind{"bootstrap", []string{"kubeconfig", "join"}}
	loadBalancerKind = kind{"load_balancer", nil}
)

// Kubeconfig is the bootstrap's output with the kubeconfig, under Flux's key.
const Kubeconfig = "value"

// maxName leaves room for the names of pods.
const maxName = 50

// Cluster is a cluster of a manifest with its parts.
type Cluster struct {
	*clusters.Unit
	ID string
	// Parts are sorted by dependency.
	Parts []*Part
	// Bootstrap is the part that makes Kubernetes.
	Bootstrap *Part
}

type planner struct {
	environment string
	manifest    *clusters.Manifest
	modules     *model.ClusterModulesSpec
	cluster     *Cluster
	// endpoint is the load balancer of the API; "" for a control node. open is true if
	// control nodes serve the API port.
	endpoint string
	open     bool
	networks map[string]*Part
	pools    map[string]*Part // of the cluster, by role/pool
}

// NewClusters returns the clusters of a manifest with their parts. state has the API
// endpoints, which written load balancers do not determine during a change. kubeconfig
// returns a cluster's kubeconfig Secret.
func NewClusters(m *model.Model, manifest *clusters.Manifest, modules *model.ClusterModules, state *provision.State, kubeconfig func(cluster string) string) []*Cluster {
	var all []*Cluster
	for _, u := range manifest.Units {
		c := &Cluster{Unit: u, ID: u.Name + "-" + shortHash(m.Environment, manifest.Namespace, manifest.Name, u.Name)}
		p := &planner{environment: m.Environment, manifest: manifest, modules: &modules.Spec, cluster: c, networks: map[string]*Part{}, pools: map[string]*Part{}}
		p.endpoint, p.open = state.Endpoints[u.Name].LoadBalancer, state.IsAPIOpen(u.Name)
		p.planCluster(kubeconfig(u.Name))
		all = append(all, c)
	}
	return all
}

func shortHash(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "/")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:7]
}

// Roles of pools and networks in modules.
const (
	controlRole   = "control"
	computeRole   = "compute"
	balancingRole = "loadbalancer"
)

// planCluster adds what the API server needs, Kubernetes, then the rest.
func (p *planner) planCluster(kubeconfig string) {
	var endpoint *Part
	var balancers []*balancer
	for _, lb := range p.cluster.LoadBalancers {
		b := p.planBalancer(lb)
		balancers = append(balancers, b)
		if lb.Name == p.endpoint {
			endpoint = b.dns
		}
	}
	for _, name := range p.cluster.Pools.Control {
		p.addPool(controlRole, name, p.open)
	}
	p.addBootstrap(kubeconfig, endpoint)
	for _, name := range p.cluster.Pools.Compute {
		p.addPool(computeRole, name, p.open)
	}
	for _, b := range balancers {
		p.addBalancer(b)
	}
}

func (p *planner) add(part *Part) *Part {
	part.arguments = append([]argument{newConstant("cluster", cty.StringVal(p.cluster.ID))}, part.arguments...)
	part.OutputsSecret = part.Name + "-outputs"
	p.cluster.Parts = append(p.cluster.Parts, part)
	return part
}

func (p *planner) newName(owner string, parts ...string) string {
	return stack.ShortenName(stack.SafeName(owner+"-"+strings.Join(parts, "-")), maxName)
}

func (p *planner) rolesOf(lb *claudie.LoadBalancer) []*claudie.Role {
	var all []*claudie.Role
	for _, name := range lb.Roles {
		if r := p.manifest.Spec.FindRole(name); r != nil {
			all = append(all, r)
		}
	}
	return all
}

func indexOf[T any](all []T, is func(*T) bool) int {
	for i := range all {
		if is(&all[i]) {
			return i
		}
	}
	return 0
}

// Package clustermodule generates the root modules by which tofu-controller makes the clusters of a
// manifest: one for each network, pool, load balancer, DNS name and bootstrap, which calls a module that
// the team names.
//
// What the package keeps true:
//   - A part is a function of what is written about it, and of the names of the parts that it reads from:
//     a change of one pool changes its own root module alone.
//   - Parts depend on each other without circles, and a part reads outputs of parts that it depends on only.
//   - Credentials are variables whose values tofu-controller takes from Secrets. None is in a root module.
//   - Names are those that a cluster, a pool or a load balancer had from the beginning, and do not change
//     when something else does.
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
	// Name is that of the objects, and Title what people call the part: cluster/kind/name.
	Name, Title string
	// After are the parts that must be ready before this one.
	After []*Part
	// Outputs are those of the root module. OutputsSecret is the Secret that they are written to.
	Outputs       []string
	OutputsSecret string

	kind      kind
	module    model.ClusterModule
	field     []any // of the ClusterModules, where the module is named
	pos       []any // of the manifest, where the part is written
	arguments []argument
	variables []variable
}

// kind is what a module makes, with the outputs that it must have.
type kind struct {
	name    string // of the block that calls the module
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

// Kubeconfig is the output of a bootstrap with the kubeconfig: the key by which Flux reads it.
const Kubeconfig = "value"

// maxName bounds the names of Terraform objects: the names of their pods begin with them.
const maxName = 50

// Cluster is a cluster of a manifest with its parts.
type Cluster struct {
	*clusters.Unit
	ID string
	// Parts are sorted so that each is behind those that it depends on.
	Parts []*Part
	// Bootstrap is the part that makes Kubernetes.
	Bootstrap *Part
}

// planner finds the parts of one cluster.
type planner struct {
	environment string
	manifest    *clusters.Manifest
	modules     *model.ClusterModulesSpec
	cluster     *Cluster
	// endpoint is the load balancer that serves the API; "" if a control node does. open is true if the
	// control nodes answer on the port of the API server.
	endpoint string
	open     bool
	networks map[string]*Part
	pools    map[string]*Part // of the cluster, by role/pool
}

// NewClusters returns the clusters of a manifest with their parts, in a state of it: that says what serves
// each API, which load balancers that are being added or removed do not. kubeconfig returns the name of the
// Secret with the kubeconfig of a cluster.
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

// shortHash returns seven letters and digits that are a function of the words.
func shortHash(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "/")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:7]
}

// The roles of pools and networks, as modules are told.
const (
	controlRole   = "control"
	computeRole   = "compute"
	balancingRole = "loadbalancer"
)

// planCluster adds the parts: what the API server needs first, then Kubernetes, and then the rest.
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

// add adds a part of a kind, which calls a module.
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

// indexOf returns where an element of a list of the manifest stands.
func indexOf[T any](all []T, is func(*T) bool) int {
	for i := range all {
		if is(&all[i]) {
			return i
		}
	}
	return 0
}

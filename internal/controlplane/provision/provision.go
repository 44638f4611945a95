// Package provision plans how clusters get from what a manifest asked for to what it
// asks for now: an ordered list of steps, as Claudie's manager or another executor runs
// them.
//
// The planner applies the first eligible step, in the manager's order, to a model of
// the cluster until the model is as wanted. It reads only the lock in the GitOps
// branch.
//
// A plan depends on two states only. Nodes are added before others are removed. The API
// endpoint only moves to what already serves it. Steps depend on earlier steps. Ids of
// steps are unique and stable.
package provision

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// State is a manifest with the dependencies of its clusters. The zero State is no
// manifest.
type State struct {
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	Executor  string `yaml:"executor"`
	// SplitFrom is the written manifest of which this one has a single cluster, or "".
	SplitFrom string       `yaml:"splitFrom"`
	Spec      claudie.Spec `yaml:"spec"`
	// Templates maps providers to the source of their templates.
	Templates map[string]string `yaml:"templates"`
	// ClusterTypes maps clusters to their cluster type.
	ClusterTypes map[string]string `yaml:"clusterTypes"`
	// Endpoints maps clusters to their API endpoint, which the plan computes.
	Endpoints map[string]Endpoint `yaml:"endpoints"`
	// Secrets maps "namespace/name" to a digest of the source, or to [ExistingSecret].
	Secrets map[string]string `yaml:"secrets"`
	// Rollout is nil in the final state. During a rollout, Endpoints are the wanted
	// ones.
	Rollout *Rollout `yaml:"rollout"`
}

// Path returns "namespace/name"; "" for the zero State.
func (s *State) Path() string {
	if s.Name == "" {
		return ""
	}
	return s.Namespace + "/" + s.Name
}

// Endpoint is the API endpoint of a cluster: a load balancer or a control node.
type Endpoint struct {
	LoadBalancer string `yaml:"loadBalancer"`
	Pool         string `yaml:"pool"`
	Node         string `yaml:"node"` // address in a static pool
}

// String names the endpoint in a sentence.
func (e Endpoint) String() string {
	switch {
	case e.LoadBalancer != "":
		return "load balancer " + e.LoadBalancer
	case e.Node != "":
		return fmt.Sprintf("node %s of pool %s", e.Node, e.Pool)
	}
	return "pool " + e.Pool
}

// Plan has the steps of one manifest from one state to another.
type Plan struct {
	Steps     []Step              `json:"steps" yaml:"steps"`
	Endpoints map[string]Endpoint `json:"endpoints,omitempty" yaml:"endpoints,omitempty"`
}

// Step is one task of a plan.
type Step struct {
	ID      string `json:"id" yaml:"id"`
	Kind    Kind   `json:"kind" yaml:"kind"`
	Cluster string `json:"cluster,omitempty" yaml:"cluster,omitempty"` // "" for the whole manifest
	// Executor runs the step.
	Executor string   `json:"executor,omitempty" yaml:"executor,omitempty"`
	Subject  Subject  `json:"subject" yaml:"subject"`
	Reason   []Change `json:"reason,omitempty" yaml:"reason,omitempty"`
	// After has the ids of the step's dependencies.
	After      []string   `json:"after,omitempty" yaml:"after,omitempty"`
	Phase      Phase      `json:"phase" yaml:"phase"`
	Disruption Disruption `json:"disruption" yaml:"disruption"`
	// MayRemove is the maximum of nodes that the autoscaler may remove.
	MayRemove  int  `json:"mayRemove,omitempty" yaml:"mayRemove,omitempty"`
	Reversible bool `json:"reversible" yaml:"reversible"`
}

// Subject is the subject of a step. Fields that do not apply are empty.
type Subject struct {
	PoolRole     string `json:"poolRole,omitempty" yaml:"poolRole,omitempty"` // Control, Compute or Balancing
	Pool         string `json:"pool,omitempty" yaml:"pool,omitempty"`
	LoadBalancer string `json:"loadBalancer,omitempty" yaml:"loadBalancer,omitempty"`
	Role         string `json:"role,omitempty" yaml:"role,omitempty"`
	Provider     string `json:"provider,omitempty" yaml:"provider,omitempty"`
	Region       string `json:"region,omitempty" yaml:"region,omitempty"`
	// Old marks machines that New ones replace.
	Old bool `json:"old,omitempty" yaml:"old,omitempty"`
	New bool `json:"new,omitempty" yaml:"new,omitempty"`
}

// The roles of pools.
const (
	Control   = "control"
	Compute   = "compute"
	Balancing = "load balancer"
)

// String names the subject in a sentence; "" for the whole cluster.
func (s Subject) String() string {
	switch {
	case s.Pool != "" && s.PoolRole == Balancing:
		return fmt.Sprintf("pool %s of load balancer %s%s", s.Pool, s.LoadBalancer, s.generation())
	case s.Pool != "":
		return fmt.Sprintf("%s pool %s%s", s.PoolRole, s.Pool, s.generation())
	case s.Role != "":
		return fmt.Sprintf("role %s of load balancer %s", s.Role, s.LoadBalancer)
	case s.Region != "" && s.LoadBalancer != "":
		return fmt.Sprintf("provider %s in %s for load balancer %s", s.Provider, s.Region, s.LoadBalancer)
	case s.LoadBalancer != "":
		return "load balancer " + s.LoadBalancer
	case s.Region != "":
		return fmt.Sprintf("provider %s in %s", s.Provider, s.Region)
	case s.Provider != "":
		return "provider " + s.Provider
	}
	return ""
}

func (s Subject) generation() string {
	switch {
	case s.Old:
		return " (replaced machines)"
	case s.New:
		return " (new machines)"
	}
	return ""
}

func (s Subject) id() string {
	role := s.PoolRole
	if role == Balancing {
		role = ""
	}
	var parts []string
	for _, part := range []string{s.LoadBalancer, s.Role, role, s.Pool, s.Provider, s.Region, strings.Trim(s.generation(), " ()")} {
		if part != "" {
			parts = append(parts, "/"+strings.ReplaceAll(part, " ", "-"))
		}
	}
	return strings.Join(parts, "")
}

// Change is the change of a field. Old or New is "" if it has no value.
type Change struct {
	Field string `json:"field" yaml:"field"`
	Old   string `json:"old,omitempty" yaml:"old,omitempty"`
	New   string `json:"new,omitempty" yaml:"new,omitempty"`
}

// String returns "field: old → new".
func (c Change) String() string {
	return fmt.Sprintf("%s: %s → %s", c.Field, cmp.Or(c.Old, "none"), cmp.Or(c.New, "none"))
}

type stateIndex struct {
	*State
	providers map[string]*claudie.Provider
	dynamic   map[string]*claudie.DynamicPool
	static    map[string]*claudie.StaticPool
	roles     map[string]*claudie.Role
	clusters  map[string]*claudie.Cluster
	balancers map[string][]*claudie.LoadBalancer // by cluster
}

func newStateIndex(s *State) *stateIndex {
	x := &stateIndex{State: s, balancers: map[string][]*claudie.LoadBalancer{}}
	x.providers = mapByName(s.Spec.Providers, func(p *claudie.Provider) string { return p.Name })
	x.dynamic = mapByName(s.Spec.NodePools.Dynamic, func(p *claudie.DynamicPool) string { return p.Name })
	x.static = mapByName(s.Spec.NodePools.Static, func(p *claudie.StaticPool) string { return p.Name })
	x.roles = mapByName(s.Spec.LoadBalancers.Roles, func(r *claudie.Role) string { return r.Name })
	x.clusters = mapByName(s.Spec.Kubernetes.Clusters, func(c *claudie.Cluster) string { return c.Name })
	for i := range s.Spec.LoadBalancers.Clusters {
		lb := &s.Spec.LoadBalancers.Clusters[i]
		x.balancers[lb.TargetedK8s] = append(x.balancers[lb.TargetedK8s], lb)
	}
	return x
}

func mapByName[T any](all []T, nameOf func(*T) string) map[string]*T {
	m := make(map[string]*T, len(all))
	for i := range all {
		if name := nameOf(&all[i]); m[name] == nil {
			m[name] = &all[i]
		}
	}
	return m
}

// Package provision plans how clusters get from what a manifest asked for to what it asks for now: an
// ordered list of steps, as Claudie's manager would take them, or as another executor does.
//
// The planner simulates the manager. It picks the first step that is eligible, in the manager's order,
// applies it to a model of the cluster, and goes on until the model is what is wanted. Nothing is read
// from clouds or clusters: what is there is what the GitOps branch says, in its lock.
//
// What the package keeps true: a plan is a function of two states, and ends at the second one; nodes are
// added before others are removed; the endpoint of an API server only moves to what is there and serves
// it; a step depends on earlier steps only; and the ids of steps are unique, and do not change when
// something else does.
package provision

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// State is a manifest with what else its clusters depend on. The zero State is that of a manifest that
// is not there.
type State struct {
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	Executor  string `yaml:"executor"`
	// SplitFrom is the name of the manifest that is written, of which this one has a single cluster; "" if
	// this one is written.
	SplitFrom string       `yaml:"splitFrom"`
	Spec      claudie.Spec `yaml:"spec"`
	// Templates is which templates the machines of a provider are made from.
	Templates map[string]string `yaml:"templates"`
	// ClusterTypes is the cluster type of each cluster that has one.
	ClusterTypes map[string]string `yaml:"clusterTypes"`
	// Endpoints is what answers for the API server of each cluster. A plan finds it, and the state
	// after the plan has it.
	Endpoints map[string]Endpoint `yaml:"endpoints"`
	// Secrets is what is known of each Secret that the manifest names, as "namespace/name": the digest of
	// what provides it, or [ExistingSecret].
	Secrets map[string]string `yaml:"secrets"`
	// Rollout is nil unless more than this state is needed for what is written. The endpoints of a
	// state with a Rollout are those that it is to have.
	Rollout *Rollout `yaml:"rollout"`
}

// Path returns the namespace and the name of the manifest; "" if it is not there.
func (s *State) Path() string {
	if s.Name == "" {
		return ""
	}
	return s.Namespace + "/" + s.Name
}

// Endpoint is what answers for an API server: a load balancer, or a control node.
type Endpoint struct {
	LoadBalancer string `yaml:"loadBalancer"`
	Pool         string `yaml:"pool"`
	Node         string `yaml:"node"` // of a static pool: its address
}

// String returns the endpoint as a sentence names it.
func (e Endpoint) String() string {
	switch {
	case e.LoadBalancer != "":
		return "load balancer " + e.LoadBalancer
	case e.Node != "":
		return fmt.Sprintf("node %s of pool %s", e.Node, e.Pool)
	}
	return "pool " + e.Pool
}

// Plan is how the clusters of one manifest get from one state to another.
type Plan struct {
	Steps []Step `json:"steps" yaml:"steps"`
	// Endpoints is what answers for each API server after the plan.
	Endpoints map[string]Endpoint `json:"endpoints,omitempty" yaml:"endpoints,omitempty"`
}

// Step is one task of a plan.
type Step struct {
	ID      string `json:"id" yaml:"id"`
	Kind    Kind   `json:"kind" yaml:"kind"`
	Cluster string `json:"cluster,omitempty" yaml:"cluster,omitempty"` // "" for one of the whole manifest
	// Executor is what carries the step out.
	Executor string   `json:"executor,omitempty" yaml:"executor,omitempty"`
	Subject  Subject  `json:"subject" yaml:"subject"`
	Reason   []Change `json:"reason,omitempty" yaml:"reason,omitempty"`
	// After is the ids of the steps that this one depends on.
	After      []string   `json:"after,omitempty" yaml:"after,omitempty"`
	Phase      Phase      `json:"phase" yaml:"phase"`
	Disruption Disruption `json:"disruption" yaml:"disruption"`
	// MayRemove is how many nodes go at most, if the autoscaler has made as many as it may.
	MayRemove  int  `json:"mayRemove,omitempty" yaml:"mayRemove,omitempty"`
	Reversible bool `json:"reversible" yaml:"reversible"`
}

// Subject is what a step is about. Fields that do not apply are empty.
type Subject struct {
	PoolRole     string `json:"poolRole,omitempty" yaml:"poolRole,omitempty"` // Control, Compute or Balancing
	Pool         string `json:"pool,omitempty" yaml:"pool,omitempty"`
	LoadBalancer string `json:"loadBalancer,omitempty" yaml:"loadBalancer,omitempty"`
	Role         string `json:"role,omitempty" yaml:"role,omitempty"`
	Provider     string `json:"provider,omitempty" yaml:"provider,omitempty"`
	Region       string `json:"region,omitempty" yaml:"region,omitempty"`
	// Old marks the machines of a pool that newer ones replace, and New those that replace them.
	Old bool `json:"old,omitempty" yaml:"old,omitempty"`
	New bool `json:"new,omitempty" yaml:"new,omitempty"`
}

// What the machines of a pool are for.
const (
	Control   = "control"
	Compute   = "compute"
	Balancing = "load balancer"
)

// String returns the subject as a sentence names it; "" for the cluster as a whole.
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

// id returns the part of a step's id that names the subject.
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

// Change is a field, with its value before and after; "" for none.
type Change struct {
	Field string `json:"field" yaml:"field"`
	Old   string `json:"old,omitempty" yaml:"old,omitempty"`
	New   string `json:"new,omitempty" yaml:"new,omitempty"`
}

// String returns "field: old → new".
func (c Change) String() string {
	return fmt.Sprintf("%s: %s → %s", c.Field, cmp.Or(c.Old, "none"), cmp.Or(c.New, "none"))
}

// stateIndex finds the parts of a state by name.
type stateIndex struct {
	*State
	providers map[string]*claudie.Provider
	dynamic   map[string]*claudie.DynamicPool
	static    map[string]*claudie.StaticPool
	roles     map[string]*claudie.Role
	clusters  map[string]*claudie.Cluster
	balancers map[string][]*claudie.LoadBalancer // of each cluster
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

package provision

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Rollout is the progress of a manifest that needs several outputs. Git has it, in the
// lock.
type Rollout struct {
	Phase Phase `yaml:"phase"`
	// Target is the digest of the final state.
	Target string `yaml:"target"`
	// Open are the clusters with open port 6443, since the old and the new endpoint
	// must both work.
	Open []string `yaml:"open"`
	// Leaving are clusters being destroyed. Dropped are files next to the lock that
	// only this needs.
	Leaving []string `yaml:"leaving"`
	Dropped []string `yaml:"dropped"`
	// From is the state before the rollout, or nil if the executor orders all steps
	// itself.
	From *State `yaml:"from"`
}

// WithoutRemoval returns the state as if pending removals were complete.
func (s *State) WithoutRemoval() State {
	bare := *s
	switch {
	case s.Rollout == nil:
	case s.Rollout.From == nil:
		bare.Rollout = nil
	default:
		rollout := *s.Rollout
		rollout.Leaving, rollout.Dropped = nil, nil
		bare.Rollout = &rollout
	}
	return bare
}

// WithRemoval returns the state with leaving clusters and their files.
func (s *State) WithRemoval(leaving, dropped []string) (State, error) {
	removing := *s
	if s.Rollout == nil {
		rollout, err := NewRemoval(s, leaving, dropped)
		removing.Rollout = rollout
		return removing, err
	}
	rollout := *s.Rollout
	rollout.Leaving, rollout.Dropped = leaving, dropped
	removing.Rollout = &rollout
	return removing, nil
}

// Detach returns the state with some clusters detached from their cluster types, which
// precedes removal.
func (s *State) Detach(clusters []string, desired *State) (State, error) {
	detached, rollout := *s, Rollout{}
	if s.Rollout != nil {
		rollout = *s.Rollout
	}
	target, err := digestState(desired)
	rollout.Phase, rollout.Target = Switch, target
	detached.Rollout, detached.ClusterTypes = &rollout, maps.Clone(s.ClusterTypes)
	maps.DeleteFunc(detached.ClusterTypes, func(cluster, _ string) bool { return slices.Contains(clusters, cluster) })
	return detached, err
}

// IsDetaching reports whether the phase only detaches cluster types.
func (r *Rollout) IsDetaching() bool { return r.Phase == Switch && r.From == nil }

// Stage is the state of a manifest to render now.
type Stage struct {
	// State is the state of this phase; it has a Rollout if another phase follows.
	State State
	// Phase is the phase of State; "" for the final one.
	Phase Phase
	// Waits is set if State is the previous state, because the next phase would remove
	// what clusters may still use.
	Waits bool
}

// NewRemoval returns the rollout of a state that an executor applies at once, while
// clusters are being destroyed and need files next to the lock.
func NewRemoval(state *State, leaving, dropped []string) (*Rollout, error) {
	target, err := digestState(state)
	return &Rollout{Phase: Contract, Target: target, Leaving: leaving, Dropped: dropped}, err
}

// NextStage returns the stage after previous on the way to desired, for executors
// without an order of their own. It adds what is needed, uses it, then removes the
// rest; it skips empty phases. Adding never waits. Other phases wait until isObserved,
// and NextStage returns the same stage until then.
func NextStage(previous, desired *State, isObserved func() bool) (Stage, error) {
	// All phases render the source of Secrets as written.
	current := *previous
	current.Secrets = desired.Secrets
	previous = &current
	n := &stagePlanner{previous: previous, desired: desired}
	final := *desired
	if previous.Name == "" {
		return n.settle(final, &State{})
	}
	plan, err := NewPlan(previous, desired)
	if err != nil {
		return Stage{}, err
	}
	n.endpoints = plan.Endpoints
	if len(plan.Steps) == 0 {
		return n.settle(final, previous)
	}
	if goesBack, err := n.goesBack(); err != nil || goesBack {
		stage, settled := n.settle(final, previous)
		return stage, cmp.Or(err, settled)
	}
	n.findOpen(plan)
	stage, changes, err := n.enter(Expand, n.expand())
	if err != nil || changes {
		return stage, err
	}
	if !isObserved() {
		return Stage{State: *previous, Phase: n.phase(), Waits: true}, nil
	}
	stage, changes, err = n.enter(Switch, n.switchOver())
	if err != nil || changes {
		return stage, err
	}
	return n.settle(final, previous)
}

// goesBack reports whether desired is the state before a phase that only added: that
// can be removed at once.
func (n *stagePlanner) goesBack() (bool, error) {
	rollout := n.previous.Rollout
	if rollout == nil || rollout.Phase != Expand || rollout.From == nil {
		return false, nil
	}
	from, err := digestState(rollout.From)
	if err != nil {
		return false, err
	}
	to, err := digestState(n.desired)
	return from == to, err
}

// IsAPIOpen reports whether the cluster's control nodes answer on port 6443.
func (s *State) IsAPIOpen(cluster string) bool {
	return s.Endpoints[cluster].LoadBalancer == "" || s.isHeldOpen(cluster)
}

func (s *State) beforeRollout() *State {
	if s.Rollout == nil || s.Rollout.From == nil { // an edited lock may lack it
		return s
	}
	return s.Rollout.From
}

type stagePlanner struct {
	previous, desired *State
	endpoints         map[string]Endpoint // after all phases
	open              []string
}

func (n *stagePlanner) phase() Phase {
	if n.previous.Rollout == nil {
		return ""
	}
	return n.previous.Rollout.Phase
}

func (n *stagePlanner) findOpen(plan Plan) {
	if n.previous.Rollout != nil {
		n.open = slices.Clone(n.previous.Rollout.Open)
	}
	for _, s := range plan.Steps {
		if s.Kind == Open6443 || s.Kind == Close6443 {
			n.open = append(n.open, s.Cluster)
		}
	}
	slices.Sort(n.open)
	n.open = slices.Compact(n.open)
}

func (n *stagePlanner) enter(phase Phase, state State) (Stage, bool, error) {
	settled := *n.previous.beforeRollout()
	settled.Rollout = nil
	state.Rollout = &Rollout{Phase: phase, Open: n.open, From: &settled}
	done, err := NewPlan(n.previous, &state)
	if err != nil {
		return Stage{}, false, fmt.Errorf("phase %s: %w", phase, err)
	}
	if len(done.Steps) == 0 {
		return Stage{}, false, nil
	}
	rest, err := NewPlan(&state, n.desired)
	if err != nil {
		return Stage{}, false, fmt.Errorf("after phase %s: %w", phase, err)
	}
	if len(rest.Steps) == 0 {
		stage, err := n.settle(*n.desired, n.previous)
		return stage, true, err
	}
	target, err := digestState(n.desired)
	if err != nil {
		return Stage{}, false, err
	}
	state.Rollout.Target = target
	return Stage{State: state, Phase: phase}, true, nil
}

func (n *stagePlanner) settle(state State, from *State) (Stage, error) {
	plan, err := NewPlan(from, &state)
	if err != nil {
		return Stage{}, err
	}
	state.Endpoints, state.Rollout = plan.Endpoints, nil
	return Stage{State: state}, nil
}

func digestState(s *State) (string, error) {
	bare := *s
	bare.Endpoints, bare.Secrets, bare.Rollout = nil, nil, nil
	text, err := EncodeLock(&bare)
	if err != nil {
		return "", err
	}
	return digestInLock(text), nil
}

func (n *stagePlanner) expand() State {
	s := *n.previous
	was, is := newStateIndex(n.previous), newStateIndex(n.desired)
	s.Spec = expandSpec(was, is)
	s.Endpoints, s.ClusterTypes, s.Templates = maps.Clone(n.previous.Endpoints), maps.Clone(n.previous.ClusterTypes), mergeOver(n.desired.Templates, n.previous.Templates)
	for name := range is.clusters {
		if was.clusters[name] != nil {
			if _, known := s.Endpoints[name]; !known {
				s.Endpoints = mergeOver(s.Endpoints, map[string]Endpoint{name: findEndpoint(was, was.clusters[name])})
			}
			continue
		}
		s.Endpoints = mergeOver(s.Endpoints, map[string]Endpoint{name: n.endpoints[name]})
		if t := n.desired.ClusterTypes[name]; t != "" {
			s.ClusterTypes = mergeOver(s.ClusterTypes, map[string]string{name: t})
		}
	}
	return s
}

func (n *stagePlanner) switchOver() State {
	s := *n.desired
	was, is := newStateIndex(n.previous), newStateIndex(n.desired)
	s.Spec = switchSpec(was, is)
	s.Templates = mergeOver(n.previous.Templates, n.desired.Templates)
	s.Endpoints = maps.Clone(n.endpoints)
	for name, cluster := range was.clusters {
		if is.clusters[name] == nil {
			s.Endpoints = mergeOver(s.Endpoints, map[string]Endpoint{name: findEndpoint(was, cluster)})
		}
	}
	return s
}

func mergeOver[V any](under, over map[string]V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}

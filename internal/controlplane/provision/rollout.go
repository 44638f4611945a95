package provision

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Rollout is where a manifest is on the way to what is written, while more than the present output is
// needed for it. It is in the lock, so that Git says where the rollout stands.
type Rollout struct {
	Phase Phase `yaml:"phase"`
	// Target is the digest of the state that the rollout leads to.
	Target string `yaml:"target"`
	// Open are the clusters whose control nodes answer on port 6443 in this phase, whatever their
	// endpoints are: while an endpoint moves, the old one and the new one must both work.
	Open []string `yaml:"open"`
	// Leaving are the clusters that are being destroyed, and Dropped what is only there for that: files
	// beside the lock.
	Leaving []string `yaml:"leaving"`
	Dropped []string `yaml:"dropped"`
	// From is the state before the rollout; nil if the executor orders all steps itself, and the rollout
	// only keeps what it needs for that.
	From *State `yaml:"from"`
}

// WithoutRemoval returns the state without what is only there to be destroyed: what leads to another state
// is planned as if that were gone.
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

// WithRemoval returns the state with clusters that are being destroyed, and with files that stay for that.
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

// Detach returns the state in which some clusters have no cluster types, before they are removed on the way
// to another state.
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

// IsDetaching reports whether clusters are detached from their cluster types, and nothing else happens.
func (r *Rollout) IsDetaching() bool { return r.Phase == Switch && r.From == nil }

// Stage is what is to be rendered of a manifest now.
type Stage struct {
	// State has the pools and their members, load balancers, roles and versions of this phase. Its
	// Endpoints say what answers for each API server, and its Rollout is set if another phase follows.
	State State
	// Phase is the phase that State carries out: "" if it is all that is written.
	Phase Phase
	// Waits is set if State is the previous one, because the clusters have not reported it as done and
	// the next phase would remove what they may still use.
	Waits bool
}

// NewRemoval returns the rollout of a state that an executor carries out at once, while files stay beside
// the lock that are dropped after that, and clusters are being destroyed.
func NewRemoval(state *State, leaving, dropped []string) (*Rollout, error) {
	target, err := digestState(state)
	return &Rollout{Phase: Contract, Target: target, Leaving: leaving, Dropped: dropped}, err
}

// NextStage returns what follows the previous state of a manifest on the way to the desired one, for
// executors that carry out one state at a time in no order of their own. What is needed is added first,
// then used, and then what nothing uses is removed; a phase that changes nothing is left out. Adding
// never waits; each other phase waits until isObserved reports that clusters have carried out the
// previous state.
//
// With the state that it returned as the previous one, and not observed, NextStage returns it again.
func NextStage(previous, desired *State, isObserved func() bool) (Stage, error) {
	// Whatever the phase, what provides the Secrets is rendered as it is written.
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

// goesBack reports whether the desired state is that from before a phase that only added something: nothing
// uses that yet, so that it need not be there before it is removed.
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

// IsAPIOpen reports whether the control nodes of a cluster answer on port 6443.
func (s *State) IsAPIOpen(cluster string) bool {
	return s.Endpoints[cluster].LoadBalancer == "" || s.isHeldOpen(cluster)
}

// beforeRollout returns the state before the rollout that is under way; s itself if none is.
func (s *State) beforeRollout() *State {
	if s.Rollout == nil || s.Rollout.From == nil { // a lock that somebody made may lack it
		return s
	}
	return s.Rollout.From
}

// stagePlanner is one call of NextStage.
type stagePlanner struct {
	previous, desired *State
	endpoints         map[string]Endpoint // after all phases
	open              []string
}

// phase returns the phase that the previous state carries out.
func (n *stagePlanner) phase() Phase {
	if n.previous.Rollout == nil {
		return ""
	}
	return n.previous.Rollout.Phase
}

// findOpen finds the clusters whose endpoints begin or cease to be load balancers in this rollout.
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

// enter returns the stage of a phase, and false if it changes nothing of the previous state.
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

// settle returns the stage that is all that is written.
func (n *stagePlanner) settle(state State, from *State) (Stage, error) {
	plan, err := NewPlan(from, &state)
	if err != nil {
		return Stage{}, err
	}
	state.Endpoints, state.Rollout = plan.Endpoints, nil
	return Stage{State: state}, nil
}

// digestState returns a digest of what a state asks for.
func digestState(s *State) (string, error) {
	bare := *s
	bare.Endpoints, bare.Secrets, bare.Rollout = nil, nil, nil
	text, err := EncodeLock(&bare)
	if err != nil {
		return "", err
	}
	return digestInLock(text), nil
}

// expand returns the previous state with all that the desired one adds to it.
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

// switchOver returns the desired state with all of the previous one that it lacks.
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

// mergeOver returns the pairs of both maps, of which those of over win.
func mergeOver[V any](under, over map[string]V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}

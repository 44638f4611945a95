package provision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// part is what one object makes that an executor without a manager is given: a Terraform object, for example.
type part struct {
	kind     partKind
	balancer string // that it is of; "" for the cluster
	name     string // of a pool or a network
}

// partKind is what a part makes.
type partKind int

// The kinds of parts, in the order in which they are made.
const (
	networkPart partKind = iota
	machinePart          // of control pools, and of pools of load balancers
	dnsPart
	bootstrapPart
	computePart
	balancerPart // the configuration of a load balancer
	kubeconfigPart
	attachmentPart
)

// partPlan finds the order in which the parts of a cluster are carried out: each waits for those that it
// needs, and what is destroyed for what needed it.
type partPlan struct {
	now, want *stateIndex
	cluster   string
	endpoint  string // the load balancer that answers for the API server; "" if a control node does
	single    bool   // whether all machines are in one network
	networks  map[string]bool
	targets   map[string]map[string]bool // the pools that each load balancer forwards to
	steps     []partStep
}

// partStep is a step with the parts that it changes.
type partStep struct {
	Step
	parts    []part
	destroys bool
}

func newPartPlan(u *unit, now, want *stateIndex) *partPlan {
	p := &partPlan{now: now, want: want, cluster: u.name, endpoint: u.endpoint.LoadBalancer, single: want.Executor == capiExecutor, networks: map[string]bool{}, targets: map[string]map[string]bool{}}
	for _, x := range []*stateIndex{now, want} {
		if c := x.clusters[u.name]; c != nil {
			for _, pool := range c.Pools.Control {
				p.networks[p.networkOf(pool)] = true
			}
		}
		for _, lb := range x.balancers[u.name] {
			if p.targets[lb.Name] == nil {
				p.targets[lb.Name] = map[string]bool{}
			}
			for _, r := range x.newBalancing(lb).roles {
				for _, pool := range r.TargetPools {
					p.targets[lb.Name][pool] = true
				}
			}
		}
	}
	return p
}

// findPool returns a dynamic pool; nil for a static one.
func (p *partPlan) findPool(name string) *claudie.DynamicPool {
	return cmp.Or(p.want.dynamic[name], p.now.dynamic[name])
}

// networkOf returns the name of the network that the machines of a pool are in.
func (p *partPlan) networkOf(pool string) string {
	d := p.findPool(pool)
	if d == nil || p.single {
		return ""
	}
	return d.ProviderSpec.Name + "/" + d.ProviderSpec.Region
}

// add adds steps behind those that there are.
func (p *partPlan) add(steps ...Step) {
	for _, s := range steps {
		p.steps = append(p.steps, partStep{s, p.partsOf(&s), s.Kind == DestroyNetwork || s.Kind == DeleteLB || s.Kind == DestroyNodes && s.isOfWholePool()})
	}
}

// isOfWholePool reports whether the step adds or removes a pool with all of its nodes.
func (s *Step) isOfWholePool() bool {
	return len(s.Reason) > 0 && strings.HasPrefix(s.Reason[0].Field, "pools")
}

// partsOf returns the parts that a step changes.
func (p *partPlan) partsOf(s *Step) []part {
	lb := s.Subject.LoadBalancer
	switch s.Kind {
	case CreateNetwork, DestroyNetwork:
		name := s.Subject.Provider + "/" + s.Subject.Region
		if p.single {
			name = ""
		}
		return []part{{networkPart, lb, name}}
	case CreatePool, AddNodes, RemoveNodes, DestroyNodes, ToAutoscaled, ToFixed, SetAutoscaler:
		return p.partsOfPool(s.Subject)
	case PatchNodes:
		return p.partsOfPatches(s.Reason)
	case CreateDNS, ReplaceDNS:
		return []part{{dnsPart, lb, ""}}
	case CreateLB, AddRole, DeleteRole, RetargetLB, ChangeRoleInternal, ChangeRoleExternal:
		return []part{{balancerPart, lb, ""}}
	case JoinLB, DeleteLB:
		return []part{{dnsPart, lb, ""}, {balancerPart, lb, ""}}
	case Open6443, Close6443:
		var all []part
		for _, network := range p.listNetworks(p.now, p.cluster, "") {
			all = append(all, part{networkPart, "", network.Provider + "/" + network.Region})
		}
		return all
	case PublishKubeconfig:
		return []part{{kind: kubeconfigPart}}
	case AttachClusterType, DetachClusterType:
		return []part{{kind: attachmentPart}}
	}
	return []part{{kind: bootstrapPart}}
}

// partsOfPool returns the parts that know the machines of a pool. Those that exist are given to what installs
// Kubernetes on them, or makes a load balancer of them.
func (p *partPlan) partsOfPool(s Subject) []part {
	isStatic := p.findPool(s.Pool) == nil
	switch {
	case isStatic && s.PoolRole == Balancing:
		return []part{{dnsPart, s.LoadBalancer, ""}, {balancerPart, s.LoadBalancer, ""}}
	case isStatic:
		return []part{{kind: bootstrapPart}}
	case s.PoolRole == Compute:
		return []part{{computePart, "", s.Pool}}
	}
	return []part{{machinePart, s.LoadBalancer, s.Pool}}
}

// partsOfPatches returns the pools of the cluster whose nodes get other marks.
func (p *partPlan) partsOfPatches(patches []Change) []part {
	var all []part
	for _, c := range patches {
		pool, _, _ := strings.Cut(c.Field, ".")
		for role, names := range map[string][]string{Control: p.want.clusters[p.cluster].Pools.Control, Compute: p.want.clusters[p.cluster].Pools.Compute} {
			if slices.Contains(names, pool) {
				all = append(all, p.partsOfPool(Subject{PoolRole: role, Pool: pool})...)
			}
		}
	}
	return all
}

// waitsFor reports whether one part is carried out after another one that it needs.
func (p *partPlan) waitsFor(a, b part) bool {
	bootstrap := part{kind: bootstrapPart}
	switch a.kind {
	case machinePart:
		return b.kind == networkPart && b.balancer == a.balancer && b.name == p.networkOf(a.name)
	case dnsPart:
		return b.balancer == a.balancer && b.kind <= machinePart
	case bootstrapPart:
		isOfControl := b.kind == machinePart || b.kind == networkPart && p.networks[b.name]
		return b.balancer == "" && isOfControl || p.endpoint != "" && b.balancer == p.endpoint && b.kind <= dnsPart
	case computePart:
		isNetwork := b.kind == networkPart && b.balancer == "" && b.name == p.networkOf(a.name)
		return isNetwork || b == bootstrap || p.waitsFor(bootstrap, b)
	case balancerPart:
		isTarget := b.kind == computePart && p.targets[a.balancer][b.name]
		return isTarget || b.balancer == a.balancer && b.kind <= machinePart || b == bootstrap || p.waitsFor(bootstrap, b)
	case kubeconfigPart:
		return b == bootstrap || p.waitsFor(bootstrap, b)
	case attachmentPart:
		return b.kind == kubeconfigPart || b == bootstrap || p.waitsFor(bootstrap, b)
	}
	return false
}

// order returns the steps phase by phase, each behind those that it depends on.
func (p *partPlan) order() []Step {
	slices.SortStableFunc(p.steps, func(a, b partStep) int {
		return cmp.Or(cmp.Compare(a.rankPhase(), b.rankPhase()), cmp.Compare(a.rankParts(), b.rankParts()))
	})
	all := make([]Step, len(p.steps))
	before := make([][]bool, len(p.steps)) // which steps each one comes after
	var leaves []int                       // of the phases before: no step depends on them
	for from := 0; from < len(p.steps); {
		to := from
		hasNext := make([]bool, len(p.steps))
		for ; to < len(p.steps) && p.steps[to].Phase == p.steps[from].Phase; to++ {
			s := &p.steps[to]
			s.After = nil
			before[to] = make([]bool, to)
			for i := to - 1; i >= from; i-- {
				if before[to][i] || !p.comesAfter(s, &p.steps[i]) {
					continue
				}
				p.note(to, i, before)
				hasNext[i] = true
			}
			if s.After == nil {
				for _, i := range leaves {
					p.note(to, i, before)
				}
			}
			slices.Reverse(s.After)
			all[to] = s.Step
		}
		leaves = leaves[:0:0]
		for i := to - 1; i >= from; i-- {
			if !hasNext[i] {
				leaves = append(leaves, i)
			}
		}
		from = to
	}
	return all
}

// note has one step depend on another one, and on all that this one comes after.
func (p *partPlan) note(step, on int, before [][]bool) {
	p.steps[step].After = append(p.steps[step].After, p.steps[on].ID)
	before[step][on] = true
	for i, is := range before[on] {
		before[step][i] = before[step][i] || is
	}
}

// comesAfter reports whether a step is carried out after an earlier one of its phase. Steps that change one
// part are carried out together.
func (p *partPlan) comesAfter(s, earlier *partStep) bool {
	for _, a := range s.parts {
		for _, b := range earlier.parts {
			switch {
			case s.destroys:
				if p.waitsFor(b, a) {
					return true
				}
			case p.waitsFor(a, b), a == b && a.kind == attachmentPart:
				return true
			}
		}
	}
	return false
}

func (s *partStep) rankPhase() int { return slices.Index([]Phase{Expand, Switch, Contract}, s.Phase) }

// rankParts returns the place of the step in its phase: that of the last part that it makes, or, behind all of
// these, the reverse of that of the first one that it destroys.
func (s *partStep) rankParts() int {
	first, last := attachmentPart, networkPart
	for _, part := range s.parts {
		first, last = min(first, part.kind), max(last, part.kind)
	}
	if s.destroys {
		return int(2*attachmentPart - last)
	}
	return int(last)
}

// listNetworks returns the networks that the pools of a cluster or of one of its load balancers are in.
func (p *partPlan) listNetworks(x *stateIndex, cluster, balancer string) []Subject {
	var pools []string
	if c := x.clusters[cluster]; c != nil && balancer == "" {
		pools = slices.Concat(c.Pools.Control, c.Pools.Compute)
	}
	for _, lb := range x.balancers[cluster] {
		if lb.Name == balancer {
			pools = lb.Pools
		}
	}
	var all []Subject
	for _, pool := range pools {
		if d := x.dynamic[pool]; d != nil {
			if s := (Subject{LoadBalancer: balancer, Provider: d.ProviderSpec.Name, Region: d.ProviderSpec.Region}); !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

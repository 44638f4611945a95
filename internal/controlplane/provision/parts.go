package provision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// part is one object of an executor without a manager, such as a Terraform object.
type part struct {
	kind     partKind
	balancer string // "" for the cluster
	name     string // of a pool or a network
}

type partKind int

// The kinds of parts, in order of creation.
const (
	networkPart partKind = iota
	machinePart          // of control pools and load balancers
	dnsPart
	bootstrapPart
	computePart
	balancerPart // the configuration of a load balancer
	kubeconfigPart
	attachmentPart
)

// partPlan orders parts: each after those that it needs, and destruction after
// dependants.
type partPlan struct {
	now, want *stateIndex
	cluster   string
	endpoint  string // the load balancer of the API; "" if a control node serves it
	single    bool
	networks  map[string]bool
	targets   map[string]map[string]bool // the target pools of each load balancer
	added     []partStep
}

type partStep struct {
	Step
	parts       []part
	first, last partKind
	destroys    bool
	rank        int // its position among all steps
}

func newPartPlan(u *unit, now, want *stateIndex) *partPlan {
	p := &partPlan{now: now, want: want, cluster: u.name, endpoint: u.endpoint.LoadBalancer, single: want.Executor == capiExecutor, added: make([]partStep, 0, len(u.steps)+8), networks: map[string]bool{}, targets: map[string]map[string]bool{}}
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

func (p *partPlan) findPool(name string) *claudie.DynamicPool {
	return cmp.Or(p.want.dynamic[name], p.now.dynamic[name])
}

func (p *partPlan) networkOf(pool string) string {
	d := p.findPool(pool)
	if d == nil || p.single {
		return ""
	}
	return d.ProviderSpec.Name + "/" + d.ProviderSpec.Region
}

func (p *partPlan) add(step Step) {
	p.added = append(p.added, partStep{Step: step, parts: p.partsOf(&step), first: attachmentPart, last: networkPart})
	s := &p.added[len(p.added)-1]
	s.destroys = s.Kind == DestroyNetwork || s.Kind == DeleteLB || s.Kind == DestroyNodes && s.isOfWholePool()
	for _, part := range s.parts {
		s.first, s.last = min(s.first, part.kind), max(s.last, part.kind)
	}
	s.rank = s.findRank()
}

func (s *Step) isOfWholePool() bool {
	return len(s.Reason) > 0 && strings.HasPrefix(s.Reason[0].Field, "pools")
}

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

// partsOfPool returns the parts that use a pool. Existing machines belong to the
// bootstrap or a load balancer.
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

func (p *partPlan) order() []Step {
	steps := make([]*partStep, len(p.added))
	for i := range p.added {
		steps[i] = &p.added[i]
	}
	slices.SortStableFunc(steps, func(a, b *partStep) int {
		return cmp.Compare(a.rank, b.rank)
	})
	all := make([]Step, 0, len(steps))
	var leaves []string
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && steps[n].Phase == steps[0].Phase {
			n++
		}
		leaves = p.orderPhase(steps[:n], leaves)
		for _, s := range steps[:n] {
			all = append(all, s.Step)
		}
		steps = steps[n:]
	}
	return all
}

// orderPhase sets the dependencies of steps in one phase: others of the phase, or
// previous. It returns the phase's leaves.
func (p *partPlan) orderPhase(steps []*partStep, previous []string) []string {
	before := make([][]bool, len(steps))
	hasNext := make([]bool, len(steps))
	for n, s := range steps {
		s.After, before[n] = nil, make([]bool, n)
		for i := n - 1; i >= 0; i-- {
			if before[n][i] || !p.comesAfter(s, steps[i]) {
				continue
			}
			s.After = append(s.After, steps[i].ID)
			before[n][i], hasNext[i] = true, true
			for k, is := range before[i] {
				before[n][k] = before[n][k] || is
			}
		}
		slices.Reverse(s.After)
		if s.After == nil {
			s.After = slices.Clone(previous)
		}
	}
	var leaves []string
	for i, s := range steps {
		if !hasNext[i] {
			leaves = append(leaves, s.ID)
		}
	}
	return leaves
}

// comesAfter reports whether a step depends on an earlier one. Changes of one part are
// simultaneous.
func (p *partPlan) comesAfter(s, earlier *partStep) bool {
	isTooEarly := s.destroys && earlier.last <= s.first || !s.destroys && earlier.first >= s.last && s.last != attachmentPart
	if isTooEarly { // a part only needs parts of earlier kinds
		return false
	}
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

// findRank orders by phase, then by the last created part; destruction follows in
// reverse.
func (s *partStep) findRank() int {
	const perPhase = 2*int(attachmentPart) + 1
	place := int(s.last)
	if s.destroys {
		place = 2*int(attachmentPart) - place
	}
	return perPhase*slices.Index(phaseOrder, s.Phase) + place
}

var phaseOrder = []Phase{Expand, Switch, Contract}

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

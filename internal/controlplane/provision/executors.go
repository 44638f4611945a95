package provision

import (
	"cmp"
	"slices"
	"strings"
)

// Executors without a manager that runs one step at a time.
const (
	// capiExecutor is Cluster API. It replaces nodes to change labels and taints, and
	// deletes a cluster only if the previous commit permitted it.
	capiExecutor = "capi"
	// tofuExecutor is tofu-controller. It gets one phase at a time, applies its parts
	// in order of dependency, and drains nothing.
	tofuExecutor = "tofu"
)

func findExecutor(now, want *State) string {
	return cmp.Or(want.Executor, now.Executor, DefaultExecutor)
}

func (s *State) isOfClaudie() bool { return s.Executor != capiExecutor && s.Executor != tofuExecutor }

func (u *unit) carryOut(now, want *stateIndex) []Step {
	switch isNew := now.clusters[u.name] == nil; {
	case want.Executor == tofuExecutor:
		return u.carryOutByTofu(now, want, isNew)
	case want.Executor == capiExecutor && isNew:
		return u.createByCAPI(now, want)
	case want.Executor == capiExecutor:
		return u.changeByCAPI()
	}
	return u.steps
}

func (u *unit) carryOutByTofu(now, want *stateIndex, isNew bool) []Step {
	p := newPartPlan(u, now, want)
	var shrinking []Subject
	var given []Change // existing machines
	for _, s := range u.steps {
		switch isStatic := p.findPool(s.Subject.Pool) == nil; {
		case s.Kind == CreatePool && isStatic:
			given = append(given, s.Reason...)
			continue
		case s.Kind == Bootstrap:
			s.Reason = append(s.Reason, given...)
		case s.Kind == AttachClusterType && isNew:
			s.Phase = Expand
		case s.Kind == DetachClusterType:
			s.Phase = Switch
		case s.Kind == RemoveNodes:
			s.Disruption = Outage
			shrinking = append(shrinking, s.Subject)
			if !isStatic {
				s.Kind, s.ID = DestroyNodes, strings.Replace(s.ID, "/"+string(RemoveNodes)+"/", "/"+string(DestroyNodes)+"/", 1)
			}
		case slices.Contains(scalings, s.Kind) && slices.Contains(shrinking, s.Subject):
			s.Phase = Contract
		}
		if s.MayRemove > 0 {
			s.Disruption = Outage
		}
		p.add(s)
	}
	if !isNew {
		p.addNetworks("")
		for _, b := range u.balancers {
			if now.findBalancer(u.name, b.name) && want.findBalancer(u.name, b.name) {
				p.addNetworks(b.name)
			}
		}
	}
	return p.order()
}

// scalings are the kinds of steps that change the autoscaler's bounds.
var scalings = []Kind{ToAutoscaled, ToFixed, SetAutoscaler}

func (x *stateIndex) findBalancer(cluster, name string) bool {
	for _, lb := range x.balancers[cluster] {
		if lb.Name == name {
			return true
		}
	}
	return false
}

func (p *partPlan) addNetworks(balancer string) {
	was, is := p.listNetworks(p.now, p.cluster, balancer), p.listNetworks(p.want, p.cluster, balancer)
	for _, network := range is {
		if !slices.Contains(was, network) {
			p.add(newStep(CreateNetwork, p.cluster, network, Change{"network", "", p.want.clusters[p.cluster].Network}))
		}
	}
	for _, network := range was {
		if !slices.Contains(is, network) {
			p.add(newStep(DestroyNetwork, p.cluster, network, Change{"network", p.now.clusters[p.cluster].Network, ""}))
		}
	}
}

// createByCAPI uses one network. Compute nodes join after the control plane exists.
func (u *unit) createByCAPI(now, want *stateIndex) []Step {
	p := newPartPlan(u, now, want)
	hasNetwork := false
	for _, s := range u.steps {
		switch s.Kind {
		case AttachClusterType:
			s.Phase = Expand
		case PublishKubeconfig:
			s.Reason = []Change{{"apiEndpoint", "", "load balancer of the cloud"}}
		}
		if s.Kind != CreateNetwork || !hasNetwork {
			p.add(s)
		}
		hasNetwork = hasNetwork || s.Kind == CreateNetwork
	}
	return p.order()
}

// changeByCAPI drops the order, since Cluster API starts all at once. The cloud's API
// endpoint stays. Control nodes of another pool replace the old ones one by one. A
// lower autoscaler minimum removes no nodes.
func (u *unit) changeByCAPI() []Step {
	isControl := func(kind Kind) func(Step) bool {
		return func(s Step) bool {
			return s.Kind == kind && s.Subject.PoolRole == Control && s.isOfWholePool()
		}
	}
	added, removed := slices.IndexFunc(u.steps, isControl(AddNodes)), slices.IndexFunc(u.steps, isControl(RemoveNodes))
	var all []Step
	for i, s := range u.steps {
		s.After = nil
		switch {
		case s.Kind == TransferAPINode, i == removed && added >= 0:
			continue
		case s.Kind == SetAutoscaler:
			s.MayRemove, s.Disruption, s.Reversible = 0, NoDisruption, true
		case i == added && removed >= 0:
			gone := u.steps[removed]
			s = u.newStep(ReplaceNodes, s.Subject, Change{s.Reason[0].Field, gone.Subject.Pool, s.Subject.Pool}, Change{"nodes", gone.Reason[1].Old, s.Reason[1].New})
		case s.Kind == AttachClusterType && len(all) > 0 && all[len(all)-1].Kind == DetachClusterType:
			s.After = []string{all[len(all)-1].ID}
		}
		all = append(all, s)
	}
	return all
}

package provision

import (
	"cmp"
	"slices"
	"strings"
)

// The executors that have no manager which takes steps one after another.
const (
	// capiExecutor is Cluster API, whose nodes have the labels and taints that they joined with: it replaces
	// them to change these. It deletes a cluster only if the commit before permitted it.
	capiExecutor = "capi"
	// tofuExecutor is tofu-controller, which is given one phase after the other, and in each of them carries
	// out parts in the order in which they need each other. It drains nothing.
	tofuExecutor = "tofu"
)

// findExecutor returns what carries out a change.
func findExecutor(now, want *State) string {
	return cmp.Or(want.Executor, now.Executor, DefaultExecutor)
}

// isOfClaudie reports whether Claudie carries the state out.
func (s *State) isOfClaudie() bool { return s.Executor != capiExecutor && s.Executor != tofuExecutor }

// carryOut returns the steps of the unit as they are carried out, and the order in which they are.
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

// carryOutByTofu returns the steps by which tofu-controller carries out the parts of the cluster.
func (u *unit) carryOutByTofu(now, want *stateIndex, isNew bool) []Step {
	p := newPartPlan(u, now, want)
	var shrinking []Subject
	var given []Change // machines that exist
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

// scalings are the kinds of steps that change how many nodes the autoscaler may make.
var scalings = []Kind{ToAutoscaled, ToFixed, SetAutoscaler}

// findBalancer reports whether a cluster has a load balancer.
func (x *stateIndex) findBalancer(cluster, name string) bool {
	for _, lb := range x.balancers[cluster] {
		if lb.Name == name {
			return true
		}
	}
	return false
}

// addNetworks adds the steps that create networks for new pools of the cluster or of a load balancer, and
// destroy those that nothing is in any more.
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

// createByCAPI returns the steps by which Cluster API makes the cluster: in one network, and compute nodes
// after there is a control plane that they can join.
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

// changeByCAPI returns the steps by which Cluster API changes the cluster. It begins with all of them at once.
// The endpoint of the API server is the cloud's, and stays; control nodes of another pool replace those that
// there are one by one. An autoscaler that may make fewer nodes removes none for that.
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

package provision

import (
	"fmt"
	"slices"
)

// A rule applies the first eligible step of one kind to the unit and returns it.
type rule func(*unit) (Step, bool)

// order is the order of Claudie's manager. Capacity comes first, then its use, then
// removal; changes of all nodes come last.
var order = []rule{
	(*unit).moveEndpoint,
	(*unit).replaceDNS,
	(*unit).addBalancerNodes,
	(*unit).removeBalancerNodes,
	(*unit).transferEndpoint,
	(*unit).addNodes,
	(*unit).joinBalancer,
	(*unit).addRole,
	(*unit).deleteRole,
	(*unit).retargetRole,
	(*unit).deleteBalancer,
	(*unit).closePort,
	(*unit).removeNodes,
	(*unit).changeRoleInternals,
	(*unit).changeRoleExternals,
	(*unit).rollBalancer,
	(*unit).upgradeKubernetes,
	(*unit).changeProxy,
	(*unit).patchNodes,
	(*unit).scaleNodes,
	(*unit).rollNodes,
	(*unit).detachClusterType,
	(*unit).attachClusterType,
}

func (u *unit) findImpossible(now, want *stateIndex) error {
	if len(want.clusters[u.name].Pools.Control) == 0 {
		return fmt.Errorf("plan cluster %s: it is to have no control nodes", u.name)
	}
	for _, s := range u.allSlots() {
		pool := s.subject.Pool
		if s.now != nil && s.want != nil && (now.static[pool] == nil) != (want.static[pool] == nil) {
			return fmt.Errorf("plan cluster %s: the machines of pool %s cannot become others: the pool needs another name", u.name, pool)
		}
	}
	return nil
}

// simulate runs steps until the unit is as wanted. An error is a bug in this package.
func (u *unit) simulate() error {
	for range u.limit {
		step, ok := u.takeStep()
		if !ok {
			if what := u.findRest(); what != "" {
				return fmt.Errorf("plan cluster %s: no step is eligible after %d, and %s; this is a mistake in Fairlead", u.name, len(u.steps), what)
			}
			return nil
		}
		u.appendStep(step)
	}
	return fmt.Errorf("plan cluster %s: it is not as wanted after %d steps; this is a mistake in Fairlead", u.name, u.limit)
}

func (u *unit) takeStep() (Step, bool) {
	for _, take := range order {
		if step, ok := take(u); ok {
			return step, true
		}
	}
	return Step{}, false
}

func (u *unit) findRest() string {
	for _, s := range u.allSlots() {
		if s.now == nil != (s.want == nil) || s.old != nil || s.now != nil && !s.now.equals(s.want) {
			return s.subject.String() + " differs"
		}
	}
	for _, b := range u.balancers {
		if !b.now.equals(b.want) {
			return "load balancer " + b.name + " differs"
		}
	}
	switch {
	case u.endpoint.Endpoint != u.wanted || u.endpoint.old:
		return fmt.Sprintf("the API endpoint is %s instead of %s", u.endpoint, u.wanted)
	case u.open != u.wantedOpen:
		return "port 6443 of the control nodes is in the wrong state"
	case u.version.now != u.version.want, u.types.now != u.types.want, u.proxy.now != u.proxy.want, len(u.patches) > 0:
		return "the version, the cluster type, the proxy or marks of nodes differ"
	}
	return ""
}

func (u *unit) allSlots() []*slot {
	all := slices.Clone(u.slots)
	for _, b := range u.balancers {
		all = append(all, b.slots...)
	}
	return all
}

func (m *machines) equals(o *machines) bool {
	return m.templates == o.templates && m.count == o.count && slices.Equal(m.addresses, o.addresses) &&
		(m.scaler == nil) == (o.scaler == nil) && (m.scaler == nil || *m.scaler == *o.scaler)
}

func (b *balancing) equals(o *balancing) bool {
	if b == nil || o == nil {
		return b == o
	}
	if !equalDNS(b.dns, o.dns) || len(b.roles) != len(o.roles) {
		return false
	}
	for i := range b.roles {
		other := o.findRole(b.roles[i].Name)
		if other == nil || !equalInternals(&b.roles[i], other) || !equalExternals(&b.roles[i], other) || !slices.Equal(b.roles[i].TargetPools, other.TargetPools) {
			return false
		}
	}
	return true
}

func (u *unit) newStep(kind Kind, subject Subject, reason ...Change) Step {
	return newStep(kind, u.name, subject, reason...)
}

func (u *unit) upgradeKubernetes() (Step, bool) {
	if u.version.now == u.version.want {
		return Step{}, false
	}
	step := u.newStep(UpgradeKubernetes, Subject{}, Change{"version", u.version.now, u.version.want})
	u.version.now = u.version.want
	return step, true
}

func (u *unit) changeProxy() (Step, bool) {
	now, want := u.proxy.now, u.proxy.want
	if now == want {
		return Step{}, false
	}
	step := u.newStep(ChangeProxy, Subject{})
	if now.used != want.used {
		step.Reason = append(step.Reason, Change{"proxy", describeSwitch(now.used), describeSwitch(want.used)})
	}
	if now.noProxy != want.noProxy {
		step.Reason = append(step.Reason, Change{"noProxy", now.noProxy, want.noProxy})
	}
	u.proxy.now = want
	return step, true
}

func describeSwitch(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (u *unit) detachClusterType() (Step, bool) {
	if u.types.now == "" || u.types.now == u.types.want {
		return Step{}, false
	}
	step := u.newStep(DetachClusterType, Subject{}, Change{"clusterType", u.types.now, u.types.want})
	u.types.now = ""
	return step, true
}

func (u *unit) attachClusterType() (Step, bool) {
	if u.types.now == u.types.want {
		return Step{}, false
	}
	step := u.newStep(AttachClusterType, Subject{}, Change{"clusterType", "", u.types.want})
	u.types.now = u.types.want
	return step, true
}

package provision

import (
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

func (u *unit) appendStep(s Step) {
	if n := u.countID(s.ID); n > 0 {
		s.ID += "/" + strconv.Itoa(n+1)
	}
	s.After = u.findDependencies(&s)
	u.leaves = slices.DeleteFunc(u.leaves, func(id string) bool { return slices.Contains(s.After, id) })
	u.leaves = append(u.leaves, s.ID)
	u.steps = append(u.steps, s)
}

func (u *unit) countID(id string) int {
	u.ids[id]++
	return u.ids[id] - 1
}

// findDependencies: adding capacity depends on nothing, using it on that capacity, and
// all else on every earlier step.
func (u *unit) findDependencies(s *Step) []string {
	switch s.Kind {
	case AddNodes:
		if s.Subject.New {
			return slices.Clone(u.leaves)
		}
		return nil
	case Open6443, ReplaceDNS:
		return nil
	case JoinLB:
		return u.stepsAdding(u.findBalancer(s.Subject.LoadBalancer).now.roles)
	case AddRole, RetargetLB:
		return u.stepsAdding([]claudie.Role{*u.findBalancer(s.Subject.LoadBalancer).now.findRole(s.Subject.Role)})
	}
	return slices.Clone(u.leaves)
}

func (u *unit) stepsAdding(roles []claudie.Role) []string {
	if !slices.ContainsFunc(u.steps, func(s Step) bool { return s.Kind == AddNodes }) {
		return nil
	}
	targets := map[string]bool{}
	for _, r := range roles {
		for _, pool := range r.TargetPools {
			targets[pool] = true
		}
	}
	var ids []string
	for _, s := range u.steps {
		if s.Kind == AddNodes && s.Subject.PoolRole != Balancing && targets[s.Subject.Pool] {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

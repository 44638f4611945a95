package schedule

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// EvaluatePolicies returns whether each policy makes an assignment, as the function of that name does, and with what
// the policies with a choice have chosen: where one does not choose the cluster type, that is the reason.
func (p *Plan) EvaluatePolicies(a Assignment) []PolicyVerdict {
	verdicts := EvaluatePolicies(p.model, a)
	for i, v := range verdicts {
		if !v.Selected || v.Policy.Choice == nil {
			continue
		}
		u := p.FindUnit(v.Policy, a.Target)
		at, known := model.IndexOf(p.model.ClusterTypes, a.ClusterType.Name)
		if u == nil || !known {
			continue
		}
		o := &verdicts[i]
		o.Unit, o.Candidates = u, p.Candidates(u)
		if u.isOn(at) {
			continue
		}
		rank := slices.IndexFunc(o.Candidates, func(c Candidate) bool { return c.ClusterType == at })
		o.NotChosen = o.Candidates[rank].Describe(rank)
		o.Selected, o.ClusterType = false, "is not chosen: "+o.NotChosen
	}
	return verdicts
}

// FindUnit returns the unit of a policy that has a target; nil if there is none.
func (p *Plan) FindUnit(policy *model.Policy, target *model.Target) *Unit {
	t, known := model.IndexOf(p.model.Targets, target.Name)
	i := slices.Index(p.model.Policies, policy)
	if !known || i < 0 || policy.Choice == nil {
		return nil
	}
	return p.decider.policies[i].units[t]
}

// Describe returns why a unit is not on a cluster type, which is at an index of its candidates.
func (c Candidate) Describe(index int) string {
	switch c.Obstacle {
	case ObstacleTaint:
		return "it has the taint " + c.Detail
	case ObstacleCapacity:
		return fmt.Sprintf("it lacks %s (%s is needed, %s is free)", c.Detail, c.Need, c.Free)
	case ObstacleAvoid:
		return "what is there is avoided, or avoids it"
	case ObstacleSpread:
		if c.Detail != "" {
			return "it has no label " + c.Detail + ", by which the choice spreads"
		}
		return "the spread would be too uneven"
	case ObstacleSelected:
		return "it " + c.Detail
	case ObstacleThere:
		return "it is there already"
	}
	return fmt.Sprintf("there are enough places, and it would be number %d of the next", index+1)
}

// IsOn reports whether a unit is on a cluster type, and whether it was before.
func (u *Unit) IsOn(clusterType int) (on, kept bool) {
	i := slices.IndexFunc(u.Places, func(p Place) bool { return p.ClusterType == clusterType })
	return i >= 0, i >= 0 && u.Places[i].Kept
}

// Usage is how much of a resource is used on a cluster type.
type Usage struct {
	Resource       string
	Used, Capacity model.Quantity
}

// String returns the usage as people read it: "cpu 14 of 16".
func (u Usage) String() string { return fmt.Sprintf("%s %s of %s", u.Resource, u.Used, u.Capacity) }

// Usage returns how much of each limited resource the targets on a cluster type use, sorted by resource.
func (p *Plan) Usage(clusterType int) []Usage {
	d := p.decider
	if d == nil {
		return nil
	}
	var all []Usage
	for r, name := range d.resources {
		if at := clusterType*len(d.resources) + r; d.capacity[at] != unlimited {
			all = append(all, Usage{name, d.used[at], d.capacity[at]})
		}
	}
	return all
}

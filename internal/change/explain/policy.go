package explain

import (
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Policy explains what a policy selects and why not the rest, near misses first.
type Policy struct {
	Policy              Object    `json:"policy" yaml:"policy"`
	ClusterTypeSelector string    `json:"clusterTypeSelector" yaml:"clusterTypeSelector"` // as in kubectl
	TargetSelector      string    `json:"targetSelector" yaml:"targetSelector"`
	Workspace           string    `json:"workspace,omitempty" yaml:"workspace,omitempty"`
	Assignments         int       `json:"assignments" yaml:"assignments"`
	ClusterTypes        []Object  `json:"clusterTypes,omitempty" yaml:"clusterTypes,omitempty"`
	Targets             []Object  `json:"targets,omitempty" yaml:"targets,omitempty"`
	OtherClusterTypes   []Absence `json:"otherClusterTypes,omitempty" yaml:"otherClusterTypes,omitempty"`
	OtherTargets        []Absence `json:"otherTargets,omitempty" yaml:"otherTargets,omitempty"`
	// Units are what the choice of the policy places together; nil if it has no choice.
	Units []PlacedUnit `json:"units,omitempty" yaml:"units,omitempty"`
}

// PlacedUnit is the cluster types that a choice has picked for one unit, of how many; Pick is -1 for all.
type PlacedUnit struct {
	Unit         string   `json:"unit" yaml:"unit"`
	Pick         int      `json:"pick" yaml:"pick"`
	ClusterTypes []string `json:"clusterTypes" yaml:"clusterTypes"`
}

func (q *explainer) explainPolicy(name string) *Policy {
	i, _ := model.IndexOf(q.model.Policies, name)
	p := q.model.Policies[i]
	out := &Policy{
		Policy: objectOf(p), ClusterTypeSelector: p.ClusterTypes.String(), TargetSelector: p.Targets.String(), Workspace: p.Workspace,
	}
	this := []*model.Policy{p}
	for _, c := range q.model.ClusterTypes {
		if clusterTypeDistance(p, c) == 0 {
			out.ClusterTypes = append(out.ClusterTypes, objectOf(c))
		} else {
			out.OtherClusterTypes = append(out.OtherClusterTypes, clusterTypeSide.explainAbsence(c, schedule.Assignment{ClusterType: c}, this))
		}
	}
	for _, t := range q.model.Targets {
		if targetDistance(p, t) == 0 {
			out.Targets = append(out.Targets, objectOf(t))
		} else {
			out.OtherTargets = append(out.OtherTargets, targetSide.explainAbsence(t, schedule.Assignment{Target: t}, this))
		}
	}
	sortByLacks(out.OtherClusterTypes)
	sortByLacks(out.OtherTargets)
	out.Assignments = len(out.ClusterTypes) * len(out.Targets)
	if p.Choice != nil {
		out.Assignments = 0
		for _, u := range q.plan.Units() {
			if u.Policy == p {
				out.Assignments += len(u.Places) * len(u.Targets)
				out.Units = append(out.Units, PlacedUnit{u.Name, p.Choice.Pick, list.Convert(u.Places, func(at schedule.Place) string {
					return q.model.ClusterTypes[at.ClusterType].Name
				})})
			}
		}
	}
	return out
}

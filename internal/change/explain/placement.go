package explain

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Placement is one side of an assignment, and the policies that made it.
type Placement struct {
	Object   Object   `json:"object" yaml:"object"`
	Policies []string `json:"policies,omitempty" yaml:"policies,omitempty"`
}

// Absence is one side of a missing assignment, and what it lacks for the nearest
// policy. Policy is "" if none selects the other side.
type Absence struct {
	Object Object `json:"object" yaml:"object"`
	Policy string `json:"policy,omitempty" yaml:"policy,omitempty"`
	Reason string `json:"reason,omitempty" yaml:"reason,omitempty"` // first unmet requirement: "needs size=large, has size=small"; that its choice picks others, if all are met
	Lacks  int    `json:"lacks,omitempty" yaml:"lacks,omitempty"`
}

func sortByLacks(list []Absence) {
	slices.SortStableFunc(list, func(a, b Absence) int { return cmp.Compare(a.Lacks, b.Lacks) })
}

// Selection tells whether a policy selects one side; if so, Reason is "".
type Selection struct {
	Policy   Object `json:"policy" yaml:"policy"`
	Selected bool   `json:"selected" yaml:"selected"`
	Reason   string `json:"reason,omitempty" yaml:"reason,omitempty"`
}

// clusterTypeDistance and targetDistance count a policy's unmet requirements; 0 means
// selected.
func clusterTypeDistance(p *model.Policy, c *model.ClusterType) int {
	return countFailing(p.ClusterTypes, c.Labels)
}

func targetDistance(p *model.Policy, t *model.Target) int {
	n := countFailing(p.Targets, t.Labels)
	if p.Workspace != "" && p.Workspace != t.Workspace {
		n++
	}
	return n
}

func countFailing(s model.Selector, labels map[string]string) int {
	n := 0
	for _, r := range s.Requirements {
		if !r.Holds(labels) {
			n++
		}
	}
	return n
}

func assignmentDistance(p *model.Policy, a schedule.Assignment) int {
	return clusterTypeDistance(p, a.ClusterType) + targetDistance(p, a.Target)
}

func policyOpinion(p *model.Policy, a schedule.Assignment) schedule.PolicyVerdict {
	if a.ClusterType == nil {
		a.ClusterType = &model.ClusterType{}
	}
	if a.Target == nil {
		a.Target = &model.Target{}
	}
	return schedule.EvaluatePolicies(&model.Model{Policies: []*model.Policy{p}}, a)[0]
}

type assignmentSide struct {
	distance func(*model.Policy, schedule.Assignment) int
	reason   func(schedule.PolicyVerdict) string
}

var (
	targetSide = assignmentSide{
		distance: func(p *model.Policy, a schedule.Assignment) int { return targetDistance(p, a.Target) },
		reason:   func(o schedule.PolicyVerdict) string { return o.Target },
	}
	clusterTypeSide = assignmentSide{
		distance: func(p *model.Policy, a schedule.Assignment) int { return clusterTypeDistance(p, a.ClusterType) },
		reason:   func(o schedule.PolicyVerdict) string { return o.ClusterType },
	}
)

func (s assignmentSide) policySelections(policies []*model.Policy, a schedule.Assignment) (all []Selection, selecting []*model.Policy) {
	var others []Selection
	for _, p := range policies {
		if s.distance(p, a) == 0 {
			all = append(all, Selection{Policy: objectOf(p), Selected: true})
			selecting = append(selecting, p)
			continue
		}
		others = append(others, Selection{Policy: objectOf(p), Reason: s.reason(policyOpinion(p, a))})
	}
	return append(all, others...), selecting
}

func (s assignmentSide) explainPlacement(o object, a schedule.Assignment, policies []*model.Policy) Placement {
	p := Placement{Object: objectOf(o)}
	for _, policy := range policies {
		if s.distance(policy, a) == 0 {
			p.Policies = append(p.Policies, policy.Name)
		}
	}
	return p
}

// explainAbsence compares with the nearest policy, the first by name if several are.
func (s assignmentSide) explainAbsence(o object, a schedule.Assignment, policies []*model.Policy) Absence {
	absent := Absence{Object: objectOf(o)}
	if len(policies) == 0 {
		return absent
	}
	nearest := slices.MinFunc(policies, func(p, r *model.Policy) int { return cmp.Compare(s.distance(p, a), s.distance(r, a)) })
	absent.Policy, absent.Reason, absent.Lacks = nearest.Name, s.reason(policyOpinion(nearest, a)), s.distance(nearest, a)
	if absent.Lacks == 0 {
		absent.Reason = "its choice has not picked this"
	}
	return absent
}

package explain

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Placement is one side of an assignment that exists, and the policies that made
// it.
type Placement struct {
	Object   Object   `json:"object" yaml:"object"`
	Policies []string `json:"policies,omitempty" yaml:"policies,omitempty"`
}

// Absence is one side of an assignment that does not exist, and what is missing
// for the policy that comes nearest to making it. Policy is "" if none selects the
// side that was asked about.
type Absence struct {
	Object Object `json:"object" yaml:"object"`
	Policy string `json:"policy,omitempty" yaml:"policy,omitempty"`
	Reason string `json:"reason,omitempty" yaml:"reason,omitempty"` // the first that is missing: "needs size=large, has size=small"
	Lacks  int    `json:"lacks,omitempty" yaml:"lacks,omitempty"`   // how many things are missing
}

// sortByLacks puts the near misses first.
func sortByLacks(list []Absence) {
	slices.SortStableFunc(list, func(a, b Absence) int { return cmp.Compare(a.Lacks, b.Lacks) })
}

// Selection is what one policy says of one side; Reason is "" where it selects it.
type Selection struct {
	Policy   Object `json:"policy" yaml:"policy"`
	Selected bool   `json:"selected" yaml:"selected"`
	Reason   string `json:"reason,omitempty" yaml:"reason,omitempty"`
}

// clusterTypeDistance and targetDistance count what keeps a side from being
// selected by a policy: it is selected at 0.
func clusterTypeDistance(p *model.Policy, c *model.ClusterType) int {
	return failing(p.ClusterTypes, c.Labels)
}

func targetDistance(p *model.Policy, t *model.Target) int {
	n := failing(p.Targets, t.Labels)
	if p.Workspace != "" && p.Workspace != t.Workspace {
		n++
	}
	return n
}

func failing(s model.Selector, labels map[string]string) int {
	n := 0
	for _, r := range s.Requirements {
		if !r.Holds(labels) {
			n++
		}
	}
	return n
}

// distance counts what keeps an assignment from being made by a policy.
func distance(p *model.Policy, a schedule.Assignment) int {
	return clusterTypeDistance(p, a.ClusterType) + targetDistance(p, a.Target)
}

// opinion returns what one policy says of an assignment, of which one side may be
// left out.
func opinion(p *model.Policy, a schedule.Assignment) schedule.Opinion {
	if a.ClusterType == nil {
		a.ClusterType = &model.ClusterType{}
	}
	if a.Target == nil {
		a.Target = &model.Target{}
	}
	return schedule.Opinions(&model.Model{Policies: []*model.Policy{p}}, a)[0]
}

// side is one of the two sides of an assignment: how far it is from being selected
// by a policy, and why.
type side struct {
	distance func(*model.Policy, schedule.Assignment) int
	reason   func(schedule.Opinion) string
}

var (
	targetSide = side{
		distance: func(p *model.Policy, a schedule.Assignment) int { return targetDistance(p, a.Target) },
		reason:   func(o schedule.Opinion) string { return o.Target },
	}
	clusterTypeSide = side{
		distance: func(p *model.Policy, a schedule.Assignment) int { return clusterTypeDistance(p, a.ClusterType) },
		reason:   func(o schedule.Opinion) string { return o.ClusterType },
	}
)

// selections returns what every policy says of one side of an assignment, those that
// select it first, and the policies that do.
func (s side) selections(policies []*model.Policy, a schedule.Assignment) (all []Selection, selecting []*model.Policy) {
	var others []Selection
	for _, p := range policies {
		if s.distance(p, a) == 0 {
			all = append(all, Selection{Policy: objectOf(&p.Object), Selected: true})
			selecting = append(selecting, p)
			continue
		}
		others = append(others, Selection{Policy: objectOf(&p.Object), Reason: s.reason(opinion(p, a))})
	}
	return append(all, others...), selecting
}

// placement returns the policies that make an assignment, of those that select its
// other side.
func (s side) placement(o *model.Object, a schedule.Assignment, policies []*model.Policy) Placement {
	p := Placement{Object: objectOf(o)}
	for _, policy := range policies {
		if s.distance(policy, a) == 0 {
			p.Policies = append(p.Policies, policy.Name)
		}
	}
	return p
}

// absence says why none of the policies that select the other side of an assignment
// makes it. Of policies that are equally near the first by name is taken.
func (s side) absence(o *model.Object, a schedule.Assignment, policies []*model.Policy) Absence {
	absent := Absence{Object: objectOf(o)}
	if len(policies) == 0 {
		return absent
	}
	nearest := slices.MinFunc(policies, func(p, r *model.Policy) int { return cmp.Compare(s.distance(p, a), s.distance(r, a)) })
	absent.Policy, absent.Reason, absent.Lacks = nearest.Name, s.reason(opinion(nearest, a)), s.distance(nearest, a)
	return absent
}

// Package schedule assigns deployment targets to cluster types by the scheduling policies.
//
// A policy selects cluster types and deployment targets by their labels (and
// targets by workspace), and puts every selected target on every selected cluster
// type. Policies add up; two that agree on a pair select it once.
//
// What the package keeps true: a [Plan] is a function of the model; its
// assignments are unique and sorted by cluster type, then deployment target; and
// the cost of a plan grows with policies × (cluster types + targets), never with
// the number of assignments, which exist as sets only until they are asked for.
package schedule

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Assignment is one deployment target on one cluster type.
type Assignment struct {
	ClusterType *model.ClusterType
	Target      *model.Target
}

// Plan is the assignments of deployment targets to cluster types.
type Plan struct {
	model      *model.Model
	selections []selection // one per policy
	// rows has the targets of each cluster type. Cluster types that the same
	// policies select share one set.
	rows    []Set
	decider *decider // nil if no policy has a choice
}

type selection struct{ clusterTypes, targets Set }

// NewPlan returns the plan of a model. The last plan, which may be nil, saves work:
// its objects are not compared again with its policies.
func NewPlan(m *model.Model, last *Plan) *Plan {
	if last == nil {
		last = &Plan{model: &model.Model{}}
	}
	p := &Plan{model: m, rows: make([]Set, len(m.ClusterTypes))}
	for _, policy := range m.Policies {
		p.selections = append(p.selections, last.selectObjects(policy, m))
	}
	shared := map[string]Set{}
	for i := range m.ClusterTypes {
		by := NewSet(len(m.Policies))
		for j, s := range p.selections {
			if m.Policies[j].Choice == nil && s.clusterTypes.Has(i) {
				by.Add(j)
			}
		}
		row, ok := shared[by.Key()]
		if !ok {
			row = NewSet(len(m.Targets))
			for j := range by.All() {
				row.Union(p.selections[j].targets)
			}
			shared[by.Key()] = row
		}
		p.rows[i] = row
	}
	p.decider = newDecider(m, p.selections, p.rows)
	if p.decider != nil {
		p.addPlaces()
	}
	return p
}

func (p *Plan) addPlaces() {
	for i, row := range p.rows { // which other cluster types may share
		p.rows[i] = NewSet(len(p.model.Targets))
		copy(p.rows[i], row)
	}
	for _, u := range p.decider.units {
		for _, place := range u.Places {
			for _, t := range u.Targets {
				p.rows[place.ClusterType].Add(t)
			}
		}
	}
}

// Units returns what the choices of the policies placed, in the order of placing.
func (p *Plan) Units() []*Unit {
	if p.decider == nil {
		return nil
	}
	return p.decider.units
}

// Decisions returns the places of the units as the decisions of the policies, by their names. Policies without places
// are left out.
func (p *Plan) Decisions() []*model.Decision {
	byPolicy := map[*model.Policy]*model.Decision{}
	for _, u := range p.Units() {
		if len(u.Places) == 0 {
			continue
		}
		d := byPolicy[u.Policy]
		if d == nil {
			d = &model.Decision{Object: model.Object{Kind: model.DecisionKind, Name: u.Policy.Name}, By: u.Policy.Choice.Decider.String(), Units: map[string][]string{}}
			byPolicy[u.Policy] = d
		}
		d.Units[u.Name] = list.Convert(u.Places, func(place Place) string { return p.model.ClusterTypes[place.ClusterType].Name })
	}
	for policy, d := range byPolicy {
		if policy.Choice.Groups != nil {
			d.Groups = policy.Choice.Groups.Divide(p.chosenTypes(d))
		}
	}
	return slices.SortedFunc(maps.Values(byPolicy), func(a, b *model.Decision) int { return cmp.Compare(a.Name, b.Name) })
}

func (p *Plan) chosenTypes(d *model.Decision) []*model.ClusterType {
	chosen := map[string]bool{}
	for _, names := range d.Units {
		for _, name := range names {
			chosen[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(p.model.ClusterTypes), func(t *model.ClusterType) bool { return !chosen[t.Name] })
}

func (p *Plan) selectObjects(policy *model.Policy, m *model.Model) selection {
	var last selection
	if i := slices.Index(p.model.Policies, policy); i >= 0 {
		last = p.selections[i]
	}
	return selection{
		clusterTypes: updateSet(last.clusterTypes, p.model.ClusterTypes, m.ClusterTypes, func(c *model.ClusterType) bool {
			return policy.ClusterTypes.Matches(c.Labels)
		}),
		targets: updateSet(last.targets, p.model.Targets, m.Targets, func(t *model.Target) bool {
			return inWorkspace(policy, t) && policy.Targets.Matches(t.Labels)
		}),
	}
}

// updateSet returns the set of the objects that match. last is the set among the objects
// before; nil if there is none.
func updateSet[T any](last Set, before, now []*T, matches func(*T) bool) Set {
	known := last != nil && len(before) == len(now)
	s := NewSet(len(now))
	if known {
		copy(s, last)
	}
	for i, o := range now {
		if known && before[i] == o {
			continue
		}
		s.Remove(i)
		if matches(o) {
			s.Add(i)
		}
	}
	return s
}

func inWorkspace(policy *model.Policy, t *model.Target) bool {
	return policy.Workspace == "" || policy.Workspace == t.Workspace
}

// Targets returns the deployment targets on the cluster type at index clusterType
// of the model, as indexes into the model's targets. The set must not be changed.
func (p *Plan) Targets(clusterType int) Set { return p.rows[clusterType] }

// Model returns the model that the plan is of.
func (p *Plan) Model() *model.Model { return p.model }

// Len returns the number of assignments.
func (p *Plan) Len() int {
	n := 0
	for _, row := range p.rows {
		n += row.Len()
	}
	return n
}

// All yields the assignments, sorted by cluster type, then deployment target.
func (p *Plan) All() iter.Seq[Assignment] {
	return func(yield func(Assignment) bool) {
		for i, c := range p.model.ClusterTypes {
			for j := range p.rows[i].All() {
				if !yield(Assignment{c, p.model.Targets[j]}) {
					return
				}
			}
		}
	}
}

// Selected returns the cluster types and the deployment targets that the policy at an index of the
// model selects, as indexes into the model's. The sets must not be changed.
func (p *Plan) Selected(policy int) (clusterTypes, targets Set) {
	return p.selections[policy].clusterTypes, p.selections[policy].targets
}

// IdlePolicies yields the policies that select nothing, with what they lack: "cluster
// type", "deployment target", or "cluster type and no deployment target".
func (p *Plan) IdlePolicies() iter.Seq2[*model.Policy, string] {
	return func(yield func(*model.Policy, string) bool) {
		for i, s := range p.selections {
			lacks := ""
			switch noTypes, noTargets := s.clusterTypes.Empty(), s.targets.Empty(); {
			case noTypes && noTargets:
				lacks = "cluster type and no deployment target"
			case noTypes:
				lacks = "cluster type"
			case noTargets:
				lacks = "deployment target"
			default:
				continue
			}
			if !yield(p.model.Policies[i], lacks) {
				return
			}
		}
	}
}

// PolicyVerdict is whether one policy makes one assignment. If it does not, ClusterType and Target
// are why their side is not selected ("" if it is).
type PolicyVerdict struct {
	Policy      *model.Policy
	Selected    bool
	ClusterType string // e.g. "needs size=large, has size=small"
	Target      string
	// Unit is what a choice places the target with, and Candidates how it sees the cluster types; nil for a policy
	// without a choice, or that does not select both sides.
	Unit       *Unit
	Candidates []Candidate
	NotChosen  string // why the choice does not have the cluster type; "" if it does
}

// EvaluatePolicies returns whether each policy selects both sides of an assignment, which need not exist, in the
// order of the policies' names.
func EvaluatePolicies(m *model.Model, a Assignment) []PolicyVerdict {
	var out []PolicyVerdict
	for _, policy := range m.Policies {
		o := PolicyVerdict{Policy: policy}
		if r, failed := policy.ClusterTypes.Mismatch(a.ClusterType.Labels); failed {
			o.ClusterType = describeMismatch(r, a.ClusterType.Labels)
		}
		switch r, failed := policy.Targets.Mismatch(a.Target.Labels); {
		case !inWorkspace(policy, a.Target):
			o.Target = "needs workspace " + policy.Workspace + ", is in " + cmp.Or(a.Target.Workspace, "no workspace")
		case failed:
			o.Target = describeMismatch(r, a.Target.Labels)
		}
		o.Selected = o.ClusterType == "" && o.Target == ""
		out = append(out, o)
	}
	return out
}

func describeMismatch(r model.Requirement, labels map[string]string) string {
	value, present := labels[r.Key]
	if !present {
		return "needs " + r.String() + ", has no label " + r.Key
	}
	return "needs " + r.String() + ", has " + r.Key + "=" + value
}

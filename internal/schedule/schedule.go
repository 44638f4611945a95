// Package schedule decides what runs where: it puts deployment targets on cluster
// types, as the scheduling policies say.
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
	"iter"

	"github.com/fairlead-io/fairlead/internal/model"
)

// Assignment is one deployment target on one cluster type.
type Assignment struct {
	ClusterType *model.ClusterType
	Target      *model.Target
}

// Plan says which deployment targets are on which cluster types.
type Plan struct {
	model      *model.Model
	selections []selection // one per policy
	// rows has the targets of each cluster type. Cluster types that the same
	// policies select share one set.
	rows []Set
}

// selection is what one policy selects.
type selection struct{ clusterTypes, targets Set }

// Assign makes the plan of a model.
func Assign(m *model.Model) *Plan {
	p := &Plan{model: m, rows: make([]Set, len(m.ClusterTypes))}
	for _, policy := range m.Policies {
		p.selections = append(p.selections, selectBy(policy, m))
	}
	shared := map[string]Set{}
	for i := range m.ClusterTypes {
		by := NewSet(len(m.Policies))
		for j, s := range p.selections {
			if s.clusterTypes.Has(i) {
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
	return p
}

func selectBy(policy *model.Policy, m *model.Model) selection {
	s := selection{NewSet(len(m.ClusterTypes)), NewSet(len(m.Targets))}
	for i, c := range m.ClusterTypes {
		if policy.ClusterTypes.Matches(c.Labels) {
			s.clusterTypes.Add(i)
		}
	}
	for i, t := range m.Targets {
		if inWorkspace(policy, t) && policy.Targets.Matches(t.Labels) {
			s.targets.Add(i)
		}
	}
	return s
}

func inWorkspace(policy *model.Policy, t *model.Target) bool {
	return policy.Workspace == "" || policy.Workspace == t.Workspace
}

// Targets gives the deployment targets on the cluster type at index clusterType
// of the model, as indexes into the model's targets. The set must not be changed.
func (p *Plan) Targets(clusterType int) Set { return p.rows[clusterType] }

// Len gives the number of assignments.
func (p *Plan) Len() int {
	n := 0
	for _, row := range p.rows {
		n += row.Len()
	}
	return n
}

// All gives the assignments, sorted by cluster type, then deployment target.
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

// Idle gives the policies that select nothing, with what they lack: "cluster
// type", "deployment target", or "cluster type and no deployment target".
func (p *Plan) Idle() iter.Seq2[*model.Policy, string] {
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

// Opinion is what one policy says of one assignment. Selected means that it makes
// it; otherwise ClusterType and Target say why it does not ("" where it would).
type Opinion struct {
	Policy      *model.Policy
	Selected    bool
	ClusterType string // e.g. "needs size=large, has size=small"
	Target      string
}

// Opinions gives what every policy says of an assignment, whether it exists or
// not, in the order of the policies' names.
func Opinions(m *model.Model, a Assignment) []Opinion {
	var out []Opinion
	for _, policy := range m.Policies {
		o := Opinion{Policy: policy}
		if r, failed := policy.ClusterTypes.Mismatch(a.ClusterType.Labels); failed {
			o.ClusterType = mismatch(r, a.ClusterType.Labels)
		}
		switch r, failed := policy.Targets.Mismatch(a.Target.Labels); {
		case !inWorkspace(policy, a.Target):
			o.Target = "needs workspace " + policy.Workspace + ", is in " + orNone(a.Target.Workspace)
		case failed:
			o.Target = mismatch(r, a.Target.Labels)
		}
		o.Selected = o.ClusterType == "" && o.Target == ""
		out = append(out, o)
	}
	return out
}

func mismatch(r model.Requirement, labels map[string]string) string {
	value, present := labels[r.Key]
	if !present {
		return "needs " + r.String() + ", has no label " + r.Key
	}
	return "needs " + r.String() + ", has " + r.Key + "=" + value
}

func orNone(workspace string) string {
	if workspace == "" {
		return "no workspace"
	}
	return workspace
}

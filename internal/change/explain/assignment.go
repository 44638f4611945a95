package explain

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Assignment explains why a target is on a cluster type or not, and its values. Without
// an assignment, these are hypothetical.
type Assignment struct {
	ClusterType Object `json:"clusterType" yaml:"clusterType"`
	Target      Object `json:"target" yaml:"target"`
	Workload    string `json:"workload" yaml:"workload"`
	Workspace   string `json:"workspace" yaml:"workspace"`
	Namespace   string `json:"namespace" yaml:"namespace"`
	Assigned    bool   `json:"assigned" yaml:"assigned"`
	// Policies are all policies: selecting ones first, then the nearest.
	Policies  []Verdict      `json:"policies,omitempty" yaml:"policies,omitempty"`
	Choices   []Choice       `json:"choices,omitempty" yaml:"choices,omitempty"`
	Values    []Value        `json:"values,omitempty" yaml:"values,omitempty"`
	Excluded  []Exclusion    `json:"excluded,omitempty" yaml:"excluded,omitempty"`
	Schemas   []Schema       `json:"schemas,omitempty" yaml:"schemas,omitempty"`
	DependsOn []Dependency   `json:"dependsOn,omitempty" yaml:"dependsOn,omitempty"`
	Files     []RenderedFile `json:"files,omitempty" yaml:"files,omitempty"`
	// Sources is what the sources of its reconcilers hold; nil if nobody looked.
	Sources []inside.Held `json:"sources,omitempty" yaml:"sources,omitempty"`
}

// Verdict tells whether a policy selects an assignment. The reason for a selected side
// is "".
type Verdict struct {
	Policy      Object `json:"policy" yaml:"policy"`
	Selected    bool   `json:"selected" yaml:"selected"`
	ClusterType string `json:"clusterType,omitempty" yaml:"clusterType,omitempty"` // "needs size=large, has size=small"
	Target      string `json:"target,omitempty" yaml:"target,omitempty"`
}

// Schema is a JSON Schema that checks the values, and its violations.
type Schema struct {
	Schema     Object   `json:"schema" yaml:"schema"`
	Violations []string `json:"violations,omitempty" yaml:"violations,omitempty"`
}

// Dependency is a name that a target depends on, with the targets of that name or
// workload on the same cluster type. No targets means that it is missing.
type Dependency struct {
	Name    string      `json:"name" yaml:"name"`
	At      problem.Pos `json:"at" yaml:"at"`
	Targets []Object    `json:"targets,omitempty" yaml:"targets,omitempty"`
}

func (q *explainer) explainAssignment(i, j int) *Assignment {
	a := q.assignmentAt(i, j)
	files := list.Convert(slotsOf(q.model, a.ClusterType), func(u templateSlot) RenderedFile { return q.renderFile(i, j, u) })
	return &Assignment{
		ClusterType: objectOf(a.ClusterType), Target: objectOf(a.Target),
		Workload: a.Target.Workload, Workspace: a.Target.Workspace, Namespace: q.namespaceName(a),
		Assigned: q.plan.Targets(i).Has(j),
		Policies: q.policyVerdicts(a), Choices: q.explainChoices(i, j), Values: q.explainValues(i, j), Excluded: q.excludedConfigs(a),
		Schemas: q.checkingSchemas(i, j), DependsOn: q.resolveDependencies(i, j), Files: files,
	}
}

func (q *explainer) namespaceName(a schedule.Assignment) string {
	return q.model.Environment + "-" + a.ClusterType.TypeName() + "-" + a.Target.Name
}

func (q *explainer) policyVerdicts(a schedule.Assignment) []Verdict {
	opinions := q.plan.EvaluatePolicies(a)
	slices.SortStableFunc(opinions, func(o, p schedule.PolicyVerdict) int {
		return cmp.Compare(assignmentDistance(o.Policy, a), assignmentDistance(p.Policy, a))
	})
	return list.Convert(opinions, func(o schedule.PolicyVerdict) Verdict {
		return Verdict{objectOf(o.Policy), o.Selected, o.ClusterType, o.Target}
	})
}

func (q *explainer) checkingSchemas(i, j int) []Schema {
	v, t := q.valueResolver().ValuesOf(i, j), q.model.Targets[j]
	all := slices.Clone(v.Schemas)
	for k := range t.Schemas {
		all = append(all, &t.Schemas[k])
	}
	messages := map[*model.Schema][]string{}
	violations, _ := q.cache.ValidateValues(v, t)
	for _, violation := range violations {
		messages[violation.Schema] = append(messages[violation.Schema], violation.Message)
	}
	return list.Convert(all, func(s *model.Schema) Schema { return Schema{objectOf(s), messages[s]} })
}

func (q *explainer) resolveDependencies(i, j int) []Dependency {
	var out []Dependency
	for _, d := range q.model.Targets[j].DependsOn {
		found := Dependency{Name: d.Name, At: d.Pos}
		for k := range q.plan.Targets(i).All() {
			other := q.model.Targets[k]
			if other.Name == d.Name {
				found.Targets = []Object{objectOf(other)}
				break
			}
			if other.Workload == d.Name {
				found.Targets = append(found.Targets, objectOf(other))
			}
		}
		out = append(out, found)
	}
	return out
}

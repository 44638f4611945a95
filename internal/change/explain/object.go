package explain

import (
	"maps"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// ClusterType explains which targets are on a cluster type.
type ClusterType struct {
	ClusterType Object            `json:"clusterType" yaml:"clusterType"`
	Labels      map[string]string `json:"labels" yaml:"labels"`
	Taints      []string          `json:"taints,omitempty" yaml:"taints,omitempty"` // "drain=yes:NoSelect"
	Usage       []string          `json:"usage,omitempty" yaml:"usage,omitempty"`   // "cpu 14 of 16"
	Templates   []TemplateUse     `json:"templates,omitempty" yaml:"templates,omitempty"`
	Policies    []Selection       `json:"policies,omitempty" yaml:"policies,omitempty"` // selecting ones first
	Targets     []Placement       `json:"targets,omitempty" yaml:"targets,omitempty"`
	Absent      []Absence         `json:"absent,omitempty" yaml:"absent,omitempty"`
}

func (q *explainer) explainClusterType(name string) *ClusterType {
	i, _ := model.IndexOf(q.model.ClusterTypes, name)
	c := q.model.ClusterTypes[i]
	out := &ClusterType{ClusterType: objectOf(c), Labels: ownLabels(c.Labels), Templates: list.Convert(slotsOf(q.model, c), q.templateUse)}
	out.Taints = list.Convert(c.Taints, model.Taint.String)
	out.Usage = list.Convert(q.plan.Usage(i), schedule.Usage.String)
	var selecting []*model.Policy
	out.Policies, selecting = clusterTypeSide.policySelections(q.model.Policies, schedule.Assignment{ClusterType: c})
	for j, t := range q.model.Targets {
		if q.plan.Targets(i).Has(j) {
			out.Targets = append(out.Targets, targetSide.explainPlacement(t, q.assignmentAt(i, j), selecting))
		} else {
			out.Absent = append(out.Absent, targetSide.explainAbsence(t, q.assignmentAt(i, j), selecting))
		}
	}
	sortByLacks(out.Absent)
	return out
}

func ownLabels(labels map[string]string) map[string]string {
	own := map[string]string{}
	maps.Copy(own, labels)
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, model.OwnerLabelPrefix) })
	return own
}

// Target explains on which cluster types a deployment target is.
type Target struct {
	Target       Object            `json:"target" yaml:"target"`
	Workload     string            `json:"workload" yaml:"workload"`
	Workspace    string            `json:"workspace" yaml:"workspace"`
	Labels       map[string]string `json:"labels" yaml:"labels"`
	DependsOn    []string          `json:"dependsOn,omitempty" yaml:"dependsOn,omitempty"`
	Policies     []Selection       `json:"policies,omitempty" yaml:"policies,omitempty"` // selecting ones first
	ClusterTypes []Placement       `json:"clusterTypes,omitempty" yaml:"clusterTypes,omitempty"`
	Absent       []Absence         `json:"absent,omitempty" yaml:"absent,omitempty"`
}

func (q *explainer) explainTarget(name string) *Target {
	j, _ := model.IndexOf(q.model.Targets, name)
	t := q.model.Targets[j]
	out := &Target{Target: objectOf(t), Workload: t.Workload, Workspace: t.Workspace, Labels: ownLabels(t.Labels)}
	out.DependsOn = list.Convert(t.DependsOn, func(d model.Dependency) string { return d.Name })
	var selecting []*model.Policy
	out.Policies, selecting = targetSide.policySelections(q.model.Policies, schedule.Assignment{Target: t})
	for i, c := range q.model.ClusterTypes {
		if q.plan.Targets(i).Has(j) {
			out.ClusterTypes = append(out.ClusterTypes, clusterTypeSide.explainPlacement(c, q.assignmentAt(i, j), selecting))
		} else {
			out.Absent = append(out.Absent, clusterTypeSide.explainAbsence(c, q.assignmentAt(i, j), selecting))
		}
	}
	sortByLacks(out.Absent)
	return out
}

// Workload explains where a workload's deployment targets are.
type Workload struct {
	Name    string    `json:"name" yaml:"name"`
	Targets []*Target `json:"targets,omitempty" yaml:"targets,omitempty"`
}

func (q *explainer) explainWorkload(name string) *Workload {
	out := &Workload{Name: name}
	for _, t := range q.model.Targets {
		if t.Workload == name {
			out.Targets = append(out.Targets, q.explainTarget(t.Name))
		}
	}
	return out
}

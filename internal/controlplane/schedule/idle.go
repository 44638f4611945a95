package schedule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// NewlyIdle returns the policies that select nothing in a model and selected something
// before in another one, each with what it lacks, as in [Plan.IdlePolicies]. Policies are compared
// by name.
func NewlyIdle(before, now *model.Model) map[*model.Policy]string {
	idle := maps.Collect(NewPlan(now, nil).IdlePolicies())
	if len(idle) == 0 {
		return nil
	}
	already := map[string]bool{}
	for policy := range NewPlan(before, nil).IdlePolicies() {
		already[policy.Name] = true
	}
	selected := map[string]bool{}
	for _, policy := range before.Policies {
		selected[policy.Name] = !already[policy.Name]
	}
	maps.DeleteFunc(idle, func(policy *model.Policy, _ string) bool { return !selected[policy.Name] })
	return idle
}

// NewlyUnselected returns the cluster types and targets that policies selected in an earlier model, and that none
// selects since their labels were changed, each with a hint about a label that is nearly right.
func NewlyUnselected(before, now *model.Model) map[*model.Object]string {
	found := map[*model.Object]string{}
	for _, c := range now.ClusterTypes {
		was := before.ClusterType(c.Name)
		types := func(p *model.Policy) model.Selector { return p.ClusterTypes }
		if was != nil && lostPolicies(before, now, types, was.Labels, c.Labels) {
			found[&c.Object] = nearestRequirement(now, types, c.Labels)
		}
	}
	for _, t := range now.Targets {
		i, known := model.IndexOf(before.Targets, t.Name)
		targets := func(p *model.Policy) model.Selector { return p.Targets }
		if known && lostPolicies(before, now, targets, before.Targets[i].Labels, t.Labels) {
			found[&t.Object] = nearestRequirement(now, targets, t.Labels)
		}
	}
	return found
}

// lostPolicies reports whether labels were changed from what some policy selected to what none selects.
func lostPolicies(before, now *model.Model, side func(*model.Policy) model.Selector, was, is map[string]string) bool {
	selects := func(labels map[string]string) func(*model.Policy) bool {
		return func(p *model.Policy) bool { return side(p).Matches(labels) }
	}
	return !maps.Equal(was, is) && slices.ContainsFunc(before.Policies, selects(was)) && !slices.ContainsFunc(now.Policies, selects(is))
}

// nearestRequirement returns a hint about a label that is nearly what a policy requires; "" if none is.
func nearestRequirement(m *model.Model, side func(*model.Policy) model.Selector, labels map[string]string) string {
	for _, p := range m.Policies {
		for _, r := range side(p).Requirements {
			if r.Operator != model.In && r.Operator != model.Exists {
				continue
			}
			value, written := labels[r.Key]
			if near := problem.FindNearest(value, r.Values); written && near != "" && near != value {
				return fmt.Sprintf("%s selects %s=%s: did you mean %q?", p.Subject(), r.Key, near, near)
			}
			if near := problem.FindNearest(r.Key, slices.Sorted(maps.Keys(labels))); !written && near != "" {
				return fmt.Sprintf("%s selects by the label %s: did you mean it? it has %q", p.Subject(), r.Key, near)
			}
		}
	}
	return ""
}

package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// The bounds of what a misspelt label is compared with. Beyond them there is no hint.
const (
	maxObjects    = 20_000
	maxCandidates = 2_000
)

// MisspeltLabel returns a hint about a label of a policy's selectors that is nearly one of the
// cluster types or targets; "" if none is.
func MisspeltLabel(policy *model.Policy, m *model.Model) string {
	if len(m.ClusterTypes) > maxObjects || len(m.Targets) > maxObjects {
		return ""
	}
	types, targets := labelsOf(m)
	for _, side := range []struct {
		selector model.Selector
		labelValues
	}{{policy.ClusterTypes, types}, {policy.Targets, targets}} {
		for _, r := range side.selector.Requirements {
			if hint := side.suggestLabel(r); hint != "" {
				return hint
			}
		}
	}
	return ""
}

// WarnMisspelt warns of names in the choices of policies that its cluster types and targets do not have and that
// are nearly names that they have. A preference for what no cluster type has is one in any case.
func WarnMisspelt(m *model.Model) (found problem.List) {
	if len(m.ClusterTypes) > maxObjects || len(m.Targets) > maxObjects {
		return nil
	}
	types, targets := labelsOf(m)
	resources, scores, taints := measuredNames(m)
	for _, p := range m.Policies {
		if p.Choice == nil {
			continue
		}
		add := func(hint, format string, args ...any) {
			found.Warnf(p.Choice.Pos, p.Subject(), hint, format, args...)
		}
		addNear := func(labels labelValues, s model.Selector, format string, args ...any) {
			for _, r := range s.Requirements {
				if hint := labels.suggestLabel(r); hint != "" {
					add(hint, format, args...)
				}
			}
		}
		for _, prefer := range p.Choice.Prefer {
			resource := cmp.Or(prefer.Most, prefer.Least)
			switch {
			case prefer.ClusterTypes != nil:
				addNear(types, *prefer.ClusterTypes, "the choice prefers cluster types of which there are none")
			case prefer.Score != "" && !scores[prefer.Score]:
				add(cmp.Or(suggest(prefer.Score, scores), "write score."+prefer.Score+" in a capacity, or remove the preference"), "the choice prefers by score %s, and no cluster type has it", prefer.Score)
			case resource != "" && !resources[resource]:
				add(cmp.Or(suggest(resource, resources), "write a capacity of it, or remove the preference"), "the choice prefers by %s, and no cluster type has a capacity of it", resource)
			}
		}
		for _, avoid := range p.Choice.Avoid {
			addNear(targets, avoid.Targets, "the choice avoids deployment targets of which there are none")
			if near := types.nearestKey(avoid.By); near != "" {
				add(fmt.Sprintf("did you mean %q?", near), "the choice avoids by the label %s, and no cluster type has it", avoid.By)
			}
		}
		for _, t := range p.Choice.Tolerate {
			if hint := suggest(t.Key, taints); t.Key != "" && !taints[t.Key] && hint != "" {
				add(hint, "the choice tolerates the taint %s, and no cluster type has it", t.Key)
			}
		}
	}
	return found
}

func measuredNames(m *model.Model) (resources, scores, taints map[string]bool) {
	resources, scores, taints = map[string]bool{model.Assignments: true}, map[string]bool{}, map[string]bool{}
	for _, measures := range m.Measures {
		if measures.Capacity {
			for resource := range measures.Amounts {
				resources[resource] = true
			}
			for score := range measures.Scores {
				scores[score] = true
			}
		}
	}
	for _, c := range m.ClusterTypes {
		for _, t := range c.Taints {
			taints[t.Key] = true
		}
	}
	return resources, scores, taints
}

func suggest(name string, known map[string]bool) string {
	return problem.DidYouMean(name, slices.Sorted(maps.Keys(known)))
}

func labelsOf(m *model.Model) (types, targets labelValues) {
	types, targets = labelValues{}, labelValues{}
	for _, c := range m.ClusterTypes {
		types.add(c.Labels)
	}
	for _, t := range m.Targets {
		targets.add(t.Labels)
	}
	return types, targets
}

// labelValues is the labels of objects: the values by key.
type labelValues map[string]map[string]bool

func (v labelValues) add(labels map[string]string) {
	for key, value := range labels {
		if v[key] == nil {
			v[key] = map[string]bool{}
		}
		if len(v[key]) < maxCandidates {
			v[key][value] = true
		}
	}
}

// suggestLabel returns a hint about a requirement that is nearly one of the labels; "" if it is
// not.
func (v labelValues) suggestLabel(r model.Requirement) string {
	if r.Operator != model.In && r.Operator != model.Exists {
		return ""
	}
	values, known := v[r.Key]
	if !known {
		if near := v.nearestKey(r.Key); near != "" {
			return fmt.Sprintf("no label is called %s: did you mean %q?", r.Key, near)
		}
		return ""
	}
	for _, value := range r.Values {
		if values[value] {
			return ""
		}
	}
	for _, value := range r.Values {
		if near := problem.FindNearest(value, slices.Sorted(maps.Keys(values))); near != "" {
			return fmt.Sprintf("nothing has %s=%s: did you mean %q?", r.Key, value, near)
		}
	}
	return ""
}

// nearestKey returns the label that a name, which is none of the labels, is nearly; "" if there is none.
func (v labelValues) nearestKey(name string) string {
	if _, known := v[name]; known || name == "" {
		return ""
	}
	return problem.FindNearest(name, slices.Sorted(maps.Keys(v)))
}

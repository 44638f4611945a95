package schedule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// IdleSince returns the policies that select nothing in a model and selected something
// before in another one, each with what it lacks, as in [Plan.Idle]. Policies are compared
// by name.
func IdleSince(before, now *model.Model) map[*model.Policy]string {
	idle := maps.Collect(Assign(now, nil).Idle())
	if len(idle) == 0 {
		return nil
	}
	already := map[string]bool{}
	for policy := range Assign(before, nil).Idle() {
		already[policy.Name] = true
	}
	selected := map[string]bool{}
	for _, policy := range before.Policies {
		selected[policy.Name] = !already[policy.Name]
	}
	maps.DeleteFunc(idle, func(policy *model.Policy, _ string) bool { return !selected[policy.Name] })
	return idle
}

// The bounds of what a misspelt label is compared with. Beyond them there is no hint.
const (
	maxObjects    = 20_000
	maxCandidates = 2_000
)

// Misspelt returns a hint about a label of a policy's selectors that is nearly one of the
// cluster types or targets; "" if none is.
func Misspelt(policy *model.Policy, m *model.Model) string {
	if len(m.ClusterTypes) > maxObjects || len(m.Targets) > maxObjects {
		return ""
	}
	types, targets := vocabulary{}, vocabulary{}
	for _, c := range m.ClusterTypes {
		types.add(c.Labels)
	}
	for _, t := range m.Targets {
		targets.add(t.Labels)
	}
	for _, side := range []struct {
		selector model.Selector
		vocabulary
	}{{policy.ClusterTypes, types}, {policy.Targets, targets}} {
		for _, r := range side.selector.Requirements {
			if hint := side.misspelt(r); hint != "" {
				return hint
			}
		}
	}
	return ""
}

// vocabulary is the labels of objects: the values by key.
type vocabulary map[string]map[string]bool

func (v vocabulary) add(labels map[string]string) {
	for key, value := range labels {
		if v[key] == nil {
			v[key] = map[string]bool{}
		}
		if len(v[key]) < maxCandidates {
			v[key][value] = true
		}
	}
}

// misspelt returns a hint about a requirement that is nearly one of the labels; "" if it is
// not.
func (v vocabulary) misspelt(r model.Requirement) string {
	if r.Operator != model.In && r.Operator != model.Exists {
		return ""
	}
	values, known := v[r.Key]
	if !known {
		if near := problem.Nearest(r.Key, slices.Sorted(maps.Keys(v))); near != "" {
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
		if near := problem.Nearest(value, slices.Sorted(maps.Keys(values))); near != "" {
			return fmt.Sprintf("nothing has %s=%s: did you mean %q?", r.Key, value, near)
		}
	}
	return ""
}

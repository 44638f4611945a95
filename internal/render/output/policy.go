package output

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

func idleProblem(policy *model.Policy, lacks string, m *model.Model) problem.Problem {
	hint := "compare its selectors with the labels; fairlead explain shows what each object lacks"
	if misspelt := schedule.MisspeltLabel(policy, m); misspelt != "" {
		hint = misspelt + " fairlead explain shows what each object lacks"
	}
	return problem.Problem{Pos: policy.Pos, Subject: policy.Subject(), Summary: "the policy selects no " + lacks, Hint: hint, Warning: true}
}

// WithIdleSince returns the problems of now, and what a change silently takes out:
// policies that no longer select anything, objects that lost their selected labels, and
// objects that Flux would keep. It serves the review of a change and changes neither
// list. Targets of environments that are not in environments are blamed instead of
// their policy.
func WithIdleSince(before, now *model.Model, environments []string, problems problem.List) problem.List {
	if before == nil || now == nil {
		return problems
	}
	idle := map[problem.Problem]problem.Problem{}
	for policy, lacks := range schedule.NewlyIdle(before, now) {
		warning := idleProblem(policy, lacks, now)
		stops := warning
		stops.Warning = false
		stops.Summary += ", and it selected some before this change"
		if t := findMisplaced(policy, before, now, environments); t != nil {
			stops.Pos, stops.Subject, stops.Hint = t.Pos, t.Subject(), model.EnvironmentHint(t.Environment, environments)
			stops.Summary = fmt.Sprintf("environment %s does not exist, and before this change the target was in %s", t.Environment, now.Environment)
		}
		idle[warning] = stops
	}
	all := make(problem.List, 0, len(problems))
	for _, p := range problems {
		if stops, ok := idle[p]; ok {
			delete(idle, p)
			p = stops
		}
		all = append(all, p)
	}
	for _, stops := range idle { // whose warnings were not in the list
		all = append(all, stops)
	}
	for o, near := range schedule.NewlyUnselected(before, now) {
		hint := cmp.Or(near, "compare its labels with the selectors of the policies") + "; to take it out on purpose, change the policy"
		all.Addf(o.Pos, o.Subject(), hint, "no policy selects it, and one selected it before this change")
	}
	for _, o := range now.Disabled(before) {
		all.Addf(o.Pos, o.Subject(), "remove the mark, or delete the object",
			"the object is ignored since this change, and Flux would keep the version that it applied before")
	}
	return all.Sorted()
}

// findMisplaced returns a target that the policy selected before and whose environment
// does not exist now, or nil.
func findMisplaced(policy *model.Policy, before, now *model.Model, environments []string) *model.Target {
	if len(environments) == 0 {
		return nil
	}
	for t := range now.Elsewhere() {
		i, known := model.IndexOf(before.Targets, t.Name)
		if known && !slices.Contains(environments, t.Environment) && policy.Targets.Matches(before.Targets[i].Labels) {
			return t
		}
	}
	return nil
}

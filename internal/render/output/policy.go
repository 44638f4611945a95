package output

import (
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// idleProblem returns the warning of a policy that selects nothing.
func idleProblem(policy *model.Policy, lacks string, m *model.Model) problem.Problem {
	hint := "compare its selectors with the labels; fairlead explain shows what each object lacks"
	if misspelt := schedule.MisspeltLabel(policy, m); misspelt != "" {
		hint = misspelt + " fairlead explain shows what each object lacks"
	}
	return problem.Problem{Pos: policy.Pos, Subject: policy.Subject(), Summary: "the policy selects no " + lacks, Hint: hint, Warning: true}
}

// WithIdleSince returns the problems of now. A policy that selects nothing, but selected
// something before, is a problem that stops the environment instead of a warning. It serves
// the review of a change, where both sides are known, and changes neither list.
func WithIdleSince(before, now *model.Model, problems problem.List) problem.List {
	if before == nil || now == nil {
		return problems
	}
	idle := map[problem.Problem]problem.Problem{}
	for policy, lacks := range schedule.NewlyIdle(before, now) {
		warning := idleProblem(policy, lacks, now)
		stops := warning
		stops.Warning = false
		stops.Summary += ", and it selected some before this change"
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
	for _, stops := range idle { // those whose warnings were not in the list
		all = append(all, stops)
	}
	return all.Sorted()
}

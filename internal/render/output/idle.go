package output

import (
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// idleProblem is a policy that selects nothing.
func idleProblem(policy *model.Policy, lacks string, m *model.Model) problem.Problem {
	hint := "compare its selectors with the labels; fairlead explain shows what each object lacks"
	if misspelt := schedule.Misspelt(policy, m); misspelt != "" {
		hint = misspelt + " fairlead explain shows what each object lacks"
	}
	return problem.Problem{Pos: policy.Pos, Subject: policy.Subject(), Summary: "the policy selects no " + lacks, Hint: hint, Warning: true}
}

// WithIdleSince returns the problems of now, in which a policy that selects nothing and
// selected something before is not a warning but a problem: so it is where a change is
// reviewed, and both sides of it are known. Neither list is changed.
func WithIdleSince(before, now *model.Model, problems problem.List) problem.List {
	if before == nil || now == nil {
		return problems
	}
	idle := map[problem.Problem]problem.Problem{}
	for policy, lacks := range schedule.IdleSince(before, now) {
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
	for _, stops := range idle { // whose warnings were left out
		all = append(all, stops)
	}
	return all.Sorted()
}

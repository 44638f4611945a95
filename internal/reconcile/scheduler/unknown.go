package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// FindUnknown returns a warning for each policy whose scheduler the settings do not name. Without settings it reports
// only names that nothing else explains: nearly fairlead, or of a policy that another one has decided.
// committed is whether policies with a Decision of that scheduler are reported, which may be committed by anybody.
func FindUnknown(m *model.Model, settings *config.Settings, committed bool) problem.List {
	names := []string{model.DecidedByFairlead}
	if settings != nil {
		names = append(names, list.Convert(settings.Schedulers, func(s config.Scheduler) string { return s.Name })...)
	}
	var found problem.List
	for _, policy := range m.Policies {
		if policy.Choice == nil || !policy.Choice.Decider.IsExternal() {
			continue
		}
		name, by := policy.Choice.Decider.Name, m.DecisionOf(policy).By
		near := problem.DidYouMean(name, names)
		switch {
		case slices.Contains(names, name), by == name && !committed, settings == nil && near == "" && (by == "" || by == name):
			continue
		}
		p := problem.Problem{Pos: policy.Choice.Pos, Subject: policy.Subject(), Warning: true, Summary: fmt.Sprintf("the settings do not name a scheduler %s", name)}
		if settings == nil {
			p.Summary = fmt.Sprintf("the scheduler %s is unknown here", name)
		}
		switch by {
		case name:
			p.Hint = "the committed decision counts; to have Fairlead ask " + name + ", add it to schedulers in the settings"
		case "":
			p.Hint = cmp.Or(near, "add it to schedulers in the settings, or commit a Decision by it")
		default:
			p.Hint = cmp.Or(near, fmt.Sprintf("the decision by %s counts until there is one by %s: add it to schedulers in the settings", by, name))
		}
		found = append(found, p)
	}
	return found
}

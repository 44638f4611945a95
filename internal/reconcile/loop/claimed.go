package loop

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// findClaimed finds manifests, machines and DNS names that two environments have. The environment
// whose output has one already goes on, and the other one is stopped; of two that have it neither or both,
// the one that comes first in the order of promotion goes on.
func (l *Loop) findClaimed(ctx context.Context, all []*environment) {
	var found []*environment
	for _, e := range all {
		if !e.attempt.paused && e.attempt.err == nil && len(e.attempt.rendered.Model.Clusters.Manifests) > 0 {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b *environment) int { return cmp.Compare(l.orders.Rank(a.name), l.orders.Rank(b.name)) })
	models := list.Convert(found, func(e *environment) *model.Model { return e.attempt.rendered.Model })
	if len(clusters.CheckEnvironments(models, nil)) == 0 {
		return
	}
	owned := map[[2]string]bool{} // by environment and name
	for _, e := range found {
		states, err := l.readOutputStates(ctx, e)
		if err != nil { // publishing reports it
			continue
		}
		for i := range states {
			owned[[2]string{e.name, states[i].Path()}] = true
			for _, u := range states[i].Spec.ListUnique() {
				owned[[2]string{e.name, u.Name}] = true
			}
		}
	}
	claimed := clusters.CheckEnvironments(models, func(environment, name string) bool { return owned[[2]string{environment, name}] })
	for _, e := range found {
		e.attempt.claimed = claimed[e.name]
	}
}

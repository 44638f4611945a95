package loop

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// findClaimed finds machines and DNS names that the clusters of two environments have. The environment
// whose output has them already goes on, and the other one is stopped; of two that have them neither or
// both, the one that comes first in the order of promotion goes on.
func (l *Loop) findClaimed(ctx context.Context, all []*environment) {
	var found []*environment
	for _, e := range all {
		if !e.attempt.paused && e.attempt.err == nil && len(e.attempt.rendered.Model.Clusters.Manifests) > 0 {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b *environment) int { return cmp.Compare(l.orders.Rank(a.name), l.orders.Rank(b.name)) })
	modelOf := func(e *environment) *model.Model { return e.attempt.rendered.Model }
	claimed := clusters.CheckEnvironments(list.Convert(found, modelOf))
	if len(claimed) == 0 {
		return
	}
	owns := map[*environment]bool{}
	for _, e := range found {
		owns[e] = l.ownsClusters(ctx, e)
	}
	slices.SortStableFunc(found, func(a, b *environment) int { return list.CompareBools(owns[a], owns[b]) })
	claimed = clusters.CheckEnvironments(list.Convert(found, modelOf))
	for _, e := range found {
		e.attempt.claimed = claimed[e.name]
	}
}

// ownsClusters reports whether the output of an environment has all machines and DNS names that its
// clusters have now. If it cannot be read, publishing reports it.
func (l *Loop) ownsClusters(ctx context.Context, e *environment) bool {
	states, err := l.readOutputStates(ctx, e)
	if err != nil {
		return false
	}
	has := map[string]bool{}
	for i := range states {
		for _, u := range states[i].Spec.ListUnique() {
			has[u.Name] = true
		}
	}
	for _, m := range e.attempt.rendered.Model.Clusters.Manifests {
		if slices.ContainsFunc(m.Spec.ListUnique(), func(u claudie.Unique) bool { return !has[u.Name] }) {
			return false
		}
	}
	return true
}

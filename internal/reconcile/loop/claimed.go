package loop

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
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
	to := e.attempt.rendered.Model.OutputRepo()
	if to == nil {
		return false
	}
	out, err := l.remotes.OpenOutput(ctx, l.remotes.ReadLocation(to.Repo))
	if err != nil || out.Mirror() == nil {
		return false
	}
	head, err := out.Mirror().FindBranch(to.Branch)
	if err != nil || head == "" {
		return false
	}
	has, err := git.InspectTree(out.Mirror(), head, func(t tree.Tree) (map[string]bool, error) {
		has := map[string]bool{}
		for _, state := range clusterfiles.ReadStates(t.Sub(publish.CleanFolder(to.Path))) {
			for _, name := range clusters.ListUnique(&state.Spec) {
				has[name] = true
			}
		}
		return has, nil
	})
	if err != nil {
		return false
	}
	for _, m := range e.attempt.rendered.Model.Clusters.Manifests {
		if slices.ContainsFunc(clusters.ListUnique(&m.Spec), func(name string) bool { return !has[name] }) {
			return false
		}
	}
	return true
}

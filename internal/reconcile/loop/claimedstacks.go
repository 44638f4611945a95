package loop

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// findClaimedStacks stops the stacks that another environment has, with their state in the same bucket. The
// environment whose output has a stack goes on, also while that tears it down: so a stack that is moved
// waits until it is gone from where it was.
func (l *Loop) findClaimedStacks(ctx context.Context, all []*environment) {
	hasStacks := false
	for _, e := range all {
		if e.isRendered() {
			e.claims = stack.NewClaims(e.attempt.rendered.Model)
		}
		hasStacks = hasStacks || len(e.claims.Written) > 0
	}
	if !hasStacks {
		return
	}
	all = slices.SortedStableFunc(slices.Values(all), func(a, b *environment) int { return cmp.Compare(l.orders.Rank(a.name), l.orders.Rank(b.name)) })
	parallel.Each(l.options.Settings.Parallel, all, func(_ int, e *environment) { l.readOutputStacks(ctx, e) })
	found := stack.CheckClaims(list.Convert(all, func(e *environment) stack.Claims {
		c := e.claims
		c.Environment, c.Output = e.name, list.Convert(e.stacks.merged, func(s stackfiles.Summary) string { return s.Stack })
		return c
	}))
	for _, e := range all {
		if e.isRendered() {
			e.attempt.rendered, e.attempt.err = e.attempt.rendered.StopStacks(found[e.name])
		}
	}
}

// isRendered reports whether this round has rendered the environment.
func (e *environment) isRendered() bool {
	return !e.attempt.paused && e.attempt.err == nil && e.attempt.rendered.Model != nil
}

// readOutputStacks reads the stacks that the output of an environment has. If it cannot be read, which
// publishing reports, they are those that it had.
func (l *Loop) readOutputStacks(ctx context.Context, e *environment) {
	to := e.provisioned.to
	if to == nil {
		return
	}
	location := l.remotes.ReadLocation(to.Repo)
	var out *repos.Remote
	if e.isRendered() {
		out, _ = l.remotes.OpenOutput(ctx, location)
	} else { // it is left alone
		out = l.remotes.KnownRemote(location)
	}
	if out == nil || out.Mirror() == nil {
		return
	}
	head, err := out.Mirror().FindBranch(to.Branch)
	if err == nil {
		err = e.stacks.readMerged(out.Mirror(), head, publish.CleanFolder(to.Path))
	}
	if err != nil {
		l.options.Logger.Warn("the stacks of an output cannot be read", "environment", e.name, "error", err)
	}
}

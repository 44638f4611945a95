package loop

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// findClaimed finds what two environments have and only one can have: manifests, machines, DNS names and bound
// names of clusters, which stop an environment, and stacks and their states, which stop the stack. The
// environment whose output has it already goes on, also while that tears a stack down: so a stack that is moved
// waits until it is gone from where it was. Of two that have it neither or both, the one that comes first in
// the order of promotion goes on.
func (l *Loop) findClaimed(ctx context.Context, all []*environment) {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b *environment) int { return cmp.Compare(l.orders.Rank(a.name), l.orders.Rank(b.name)) })
	hasStacks := false
	for _, e := range all {
		if e.isRendered() && e.attempt.rendered.Model != e.claimant.Model {
			e.claimant = source.NewClaimant(e.name, e.attempt.rendered.Model)
		}
		hasStacks = hasStacks || e.claimant.HasStacks()
	}
	if hasStacks {
		parallel.Each(l.options.Settings.Parallel, all, func(_ int, e *environment) { l.readOutputStacks(ctx, e) })
	}
	outputs := map[string]source.OutputClaims{}
	for _, e := range all {
		l.keepStates(ctx, e)
		outputs[e.name] = source.OutputClaims{Stacks: e.stacks.merged}
	}
	claimants := list.Convert(all, func(e *environment) source.Claimant {
		c := e.claimant
		c.Environment = e.name
		return c
	})
	found := source.CheckClaims(claimants, outputs)
	if len(found) == 0 {
		return
	}
	for _, e := range all {
		states, err := l.readOutputStates(ctx, e)
		if err != nil { // publishing reports it
			continue
		}
		claims := outputs[e.name]
		for _, s := range states {
			claims.AddManifest(s)
		}
		outputs[e.name] = claims
	}
	for name, problems := range source.CheckClaims(claimants, outputs) {
		e := l.environments[name]
		if !e.isRendered() {
			continue
		}
		var ofStacks problem.List
		e.attempt.claimed = nil
		for _, p := range problems {
			if p.Stack == "" {
				e.attempt.claimed = append(e.attempt.claimed, p)
			} else {
				ofStacks = append(ofStacks, p)
			}
		}
		e.attempt.rendered, e.attempt.err = e.attempt.rendered.StopStacks(ofStacks)
	}
}

// keepStates renders an environment again if two of its stacks have one state, and its output, which is known by
// now, names it for one of them: that one goes on.
func (l *Loop) keepStates(ctx context.Context, e *environment) {
	if !e.isRendered() || e.unreachable != nil {
		return
	}
	var kept []stack.State
	if e.claimant.SharesState() {
		kept = source.NamedStates(e.stacks.merged)
	}
	if slices.Equal(kept, e.kept) {
		return
	}
	e.kept = kept
	e.attempt.err = l.barrier.Run("render", e.name, func() (err error) {
		e.attempt.rendered, err = l.source.Render(ctx, e.name, source.Revisions{Ending: l.ephemerals.ending[e.name], Kept: e.kept}, e.cache)
		return err
	})
}

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

package loop

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// Round does all that the daemon does, once: it polls, and if something has moved or was left
// undone, it reads, renders, proposes, promotes, withdraws and previews. Each step reports what it
// did. A quiet round only looks at promotions that wait for something outside, and at previews.
func (l *Loop) Round(ctx context.Context, poll repos.Scope) error {
	ctx, leave := enterShare(ctx, l, "")
	defer leave()
	l.options.Progress("poll the repositories", 0, 0)
	moved := l.remotes.Poll(ctx, poll)
	moved = ctx.Err() == nil && l.checkPulls(ctx) || moved
	moved = l.registries.Poll(ctx) || moved
	if ctx.Err() != nil {
		return ctx.Err()
	}
	due := l.isTimeUp()
	if l.opened && !moved && !due && !l.undone && !l.hasDestroyedStacks() && !l.hasNewDrift() && !l.ephemerals.hasNewCosts(l.environments) {
		// It is time, or a cluster has reported, or a person has done something to a pull request.
		if l.promoter.IsDue(l.woken || !poll.IsAll()) || l.promoter.CheckPulls(ctx) {
			l.promoteCommits(ctx)
		}
		l.previews.Preview(ctx, l.source, l.orders.Limits)
		l.freeMemory()
		l.reportControlPlane(nil)
		return nil
	}
	l.hasWorked = true
	l.options.Logger.Debug("there is something to do", "moved", moved, "undone", l.undone)
	l.options.Progress("read the control plane", 0, 0)
	names, err := l.readControlPlane(ctx)
	if err != nil {
		return err
	}
	all := list.Convert(names, func(name string) *environment { return l.environments[name] })
	// All are rendered before the first is published: only then is it known whether two would write
	// to one place.
	rendered := l.countEnvironments("render", len(all))
	parallel.Each(l.options.Settings.Parallel, all, func(_ int, e *environment) {
		l.renderEnvironment(ctx, e)
		rendered()
	})
	complete := !slices.ContainsFunc(all, func(e *environment) bool { return e.attempt.paused })
	l.checkLocations(ctx, all)
	l.findRivals(ctx, all)
	l.noteProvisioned(all)
	l.findClaimed(ctx, all)
	l.findMoved(ctx, all)
	l.undone = l.retirement.searchLeftovers(ctx, all)
	l.reportSharedProblems(ctx, all)
	l.notePlanReports(all)
	l.publishEnvironments(ctx, all)
	l.promoteCommits(ctx)
	if undecided := listUndecided(all); len(undecided) > 0 { // a new process knows the proofs of their waves now
		l.publishEnvironments(ctx, undecided)
		l.promoteCommits(ctx)
	}
	l.undone = l.retirement.retireEnvironments(ctx) || l.undone
	l.nextAsk = findEarliest(l.schedulers.Next(l.roundTime), l.inventories.Next(l.roundTime))
	for _, e := range all {
		l.nextAsk = findEarliest(l.nextAsk, e.nextStale)
	}
	l.previews.Preview(ctx, l.source, l.orders.Limits)
	l.registries.EndReading()
	l.remotes.EndReading(complete && ctx.Err() == nil)
	l.remotes.Maintain(ctx)
	return ctx.Err()
}

// Cycle runs one round that polls all repositories, and reports it to the store. It returns
// an error if the control plane could not be read; what goes wrong in one environment is in
// its report.
func (l *Loop) Cycle(ctx context.Context) error { return l.runCycle(ctx, repos.All) }

// runCycle runs a round that polls some of the repositories, and reports it. The others are
// taken as they were, and the time of the next poll of all does not change.
func (l *Loop) runCycle(ctx context.Context, poll repos.Scope) error {
	endTurn, err := l.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer endTurn()
	l.number++
	started := l.options.Now()
	l.roundTime = started
	l.undone = beginShares(l) || l.undone
	l.promoter.StartRound(started)
	l.options.Store.StartCycle(started)
	err = l.barrier.Run("cycle", "", func() error { return l.Round(ctx, poll) })
	if panics.Is(err) { // in what all environments share; what is known of the control plane may be half written
		l.source = nil
		l.reportControlPlane(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if poll.IsAll() {
		l.nextPoll = l.options.Settings.NextPoll(l.options.Now(), l.options.Random())
	}
	l.promoter.CountFleet(l.promotionFacts())
	l.reportCycle(started, err)
	l.options.Outputs(l.listBranches())
	return err
}

func (l *Loop) publishEnvironments(ctx context.Context, all []*environment) {
	l.options.Metrics.SetQueueLength(len(all))
	published := l.countEnvironments("compare the outputs", len(all))
	left := len(all)
	var mu sync.Mutex
	parallel.Each(l.options.Settings.Parallel, all, func(_ int, e *environment) {
		retry := l.publishEnvironment(ctx, e)
		published()
		mu.Lock()
		defer mu.Unlock()
		left--
		l.options.Metrics.SetQueueLength(left)
		l.undone = l.undone || retry
	})
}

// countEnvironments reports that something is done for none of the environments, and returns what
// reports that it is done for one more.
func (l *Loop) countEnvironments(what string, total int) (add func()) {
	var done atomic.Int64
	l.options.Progress(what, 0, total)
	return func() { l.options.Progress(what, int(done.Add(1)), total) }
}

func (l *Loop) promoteCommits(ctx context.Context) {
	l.options.Progress("evaluate proof and gates", 0, 0)
	if l.promoter.RunRound(ctx, l.orders, l.promotionFacts()) {
		l.undone = true
	}
}

// freeMemory returns the memory that rendering and packing have left: once, in the first
// round in which nothing has moved. Go would keep it for some minutes, and collects it
// only when as much again was asked for: of 100,000 assignments that is two to four times
// what we keep. Here nothing waits for the collection, which is not worth its time where there is little.
func (l *Loop) freeMemory() {
	if l.hasWorked && findUnusedMemory() >= muchUnusedMemory {
		debug.FreeOSMemory()
	}
	l.hasWorked = false
}

// muchUnusedMemory is how many bytes are worth a collection.
const muchUnusedMemory = 64 << 20

// findUnusedMemory returns how many bytes the process holds that are free, or were asked for since the
// last collection.
func findUnusedMemory() uint64 {
	found := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(found)
	free, objects, live := found[0].Value.Uint64(), found[1].Value.Uint64(), found[2].Value.Uint64()
	return free + objects - min(objects, live)
}

// Package agent reports the state of a cluster's Flux, Argo CD and Rancher Fleet objects to
// Fairlead's ledger.
//
// What the package keeps true: it changes nothing on the cluster; the ledger can only request a
// full or a less frequent report. It reports only what it has just read: it is silent if the
// cluster is unreadable, and names unreadable kinds. It keeps only the newest state during outages.
// Its key appears in no request and no log.
package agent

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// Options configures an agent.
type Options struct {
	Name    string
	Every   time.Duration
	Version string
	Cluster *Cluster
	Ledger  *Ledger
	Logger  *slog.Logger
	Random  *rand.Rand
	// Now is the clock. Wait waits for d, or until ctx ends.
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration)
}

// Agent reads a cluster and reports in rounds.
type Agent struct {
	options  Options
	reporter *reporter

	mu     sync.Mutex
	health health
}

type health struct {
	rounds    uint64
	lastRound time.Time
	lastRead  time.Time
	lastSent  time.Time
	objects   int
	unread    int
	readError string
	sendError string
	requests  map[string]uint64
}

// New returns an agent.
func New(o Options) *Agent {
	a := &Agent{options: o, reporter: newReporter(o), health: health{requests: map[string]uint64{}}}
	a.health.lastRound = o.Now()
	return a
}

// Run reads and reports until ctx ends.
func (a *Agent) Run(ctx context.Context) {
	for ctx.Err() == nil {
		a.runRound(ctx)
		a.options.Wait(ctx, a.reporter.untilNext(a.options.Now()))
	}
}

func (a *Agent) runRound(ctx context.Context) {
	now := a.options.Now()
	state, uid, err := a.options.Cluster.Read(ctx, now)
	if ctx.Err() != nil {
		return
	}
	a.record(func(h *health) {
		h.rounds++
		h.lastRound, h.readError = now, ""
		if err != nil {
			h.readError = err.Error()
			return
		}
		h.lastRead, h.objects, h.unread = now, len(state.Entries()), len(state.Unread())
	})
	if err != nil {
		a.options.Logger.Warn("the cluster cannot be read; nothing is reported", "error", err)
		a.reporter.setUnreadable(now)
		return
	}
	a.reporter.setState(state, uid, now)
	for a.reporter.isDue(a.options.Now()) && ctx.Err() == nil {
		a.report(ctx)
	}
}

func (a *Agent) report(ctx context.Context) {
	request := a.reporter.nextRequest(a.options.Now())
	answer, err := a.options.Ledger.send(ctx, request)
	if ctx.Err() != nil {
		return
	}
	now := a.options.Now()
	outcome := "accepted"
	if err != nil {
		outcome = "failed"
		wait := a.reporter.setFailed(err, now)
		a.options.Logger.Warn("the report was not accepted", "error", err, "retry", wait.Round(time.Second).String())
	} else {
		a.reporter.setAccepted(request, answer, now)
		a.options.Logger.Debug("reported", "objects", request.Count, "entries", len(request.Entries), "full", request.Full, "want", answer.Want)
	}
	a.record(func(h *health) {
		h.requests[outcome]++
		h.sendError = ""
		if err != nil {
			h.sendError = err.Error()
			return
		}
		h.lastSent = now
	})
}

func (a *Agent) record(change func(*health)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.health)
}

// Wait waits for d, or until ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func checkEvery(every time.Duration) error {
	if every < agentapi.MinEvery || every > agentapi.MaxEvery {
		return fmt.Errorf("--every is %s, and should be from %s to %s", every, agentapi.MinEvery, agentapi.MaxEvery)
	}
	return nil
}

package loop

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// wakeRequests is what was asked for since the last cycle began.
type wakeRequests struct {
	mu    sync.Mutex
	poll  repos.Scope
	event bool          // whether something was asked for that is no poll of all
	news  chan struct{} // has an element if something was asked for
}

func (w *wakeRequests) add(poll repos.Scope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.poll = w.poll.With(poll)
	w.event = w.event || !poll.IsAll()
	select {
	case w.news <- struct{}{}:
	default: // it is known already
	}
}

// take returns what was asked for, for a cycle that begins now, and whether an event did: it may be about
// what no poll shows.
func (w *wakeRequests) take() (poll repos.Scope, event bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.news:
	default:
	}
	poll, event = w.poll, w.event
	w.poll, w.event = repos.Scope{}, false
	return poll, event
}

// Wake has [Loop.Run] begin a cycle now, or once the one that runs is over. It polls only this
// repository, given as [giturl.Normalize] does; "" is all of them, as in a scheduled cycle. Any
// goroutine may call it; it does not wait.
func (l *Loop) Wake(repo string) {
	if repo == "" {
		l.wakes.add(repos.All)
		return
	}
	concerned := []string{repo}
	for url, location := range l.options.Settings.Map {
		if strings.EqualFold(giturl.Normalize(url), repo) {
			concerned = append(concerned, giturl.Normalize(location))
		}
	}
	l.wakes.add(repos.Only(concerned...))
}

// WakeWithoutPoll has [Loop.Run] begin a cycle now without polling, for example after a cluster's
// report. Any goroutine may call it; it does not wait.
func (l *Loop) WakeWithoutPoll() { l.wakes.add(repos.Only()) }

// Run runs cycles as the settings' schedule says, when the time of an ephemeral
// environment is up or a gate may change its verdict, and when it is woken, until
// ctx ends. However often it is woken, all repositories are polled when the schedule says
// so. What goes wrong is in the reports; after is called when a cycle is over.
func (l *Loop) Run(ctx context.Context, after func()) {
	var last recall
	defer last.asking.Wait()
	for ctx.Err() == nil {
		var poll repos.Scope
		poll, l.woken = l.wakes.take()
		if !l.options.Now().Before(l.nextPollTime()) {
			poll = repos.All
		}
		err := l.runCycle(ctx, poll) // it is in the report, and logged
		after()
		if err == nil {
			l.beginRecall(ctx, &last)
		}
		pause := l.nextPollTime().Sub(l.options.Now())
		if look := l.promoter.NextRound(); !look.IsZero() {
			pause = min(pause, max(look.Sub(l.options.Now()), shortestPause))
		}
		l.pause(ctx, pause, &last)
	}
}

// pause waits for a time, or until a cycle is to begin before. What forges answer meanwhile is reported.
func (l *Loop) pause(ctx context.Context, length time.Duration, last *recall) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-l.wakes.news:
		case <-timer.C:
		case answers := <-last.answered:
			l.recallPulls(ctx, answers)
			continue
		}
		return
	}
}

// shortestPause bounds how often we look because of the clock alone.
const shortestPause = time.Second

// nextPollTime returns when to begin a cycle that asks all repositories: as scheduled, when
// something becomes of an ephemeral environment, when a freeze begins or ends, or as nextAsk says.
func (l *Loop) nextPollTime() time.Time {
	next := l.nextPoll
	for _, at := range []time.Time{l.ephemerals.next, l.orders.NextChange, l.nextAsk} {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// isTimeUp reports, once, whether something becomes of an ephemeral environment now, a freeze begins or ends, or
// it is the time of nextAsk.
func (l *Loop) isTimeUp() bool {
	up := false
	for _, next := range []*time.Time{&l.ephemerals.next, &l.orders.NextChange, &l.nextAsk} {
		if !next.IsZero() && !l.roundTime.Before(*next) {
			up, *next = true, time.Time{}
		}
	}
	return up
}

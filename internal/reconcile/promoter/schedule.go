package promoter

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// minInterval is the least time between two rounds that only events ask for: a rollout has hundreds
// of events, and our own statuses come back as webhooks.
const minInterval = 5 * time.Second

// promptFor is how long after news the interval of the settings is kept, because a status may be
// written without a webhook. After that the pauses grow.
const promptFor = time.Hour

// schedule decides when the next round runs though no reference moves.
type schedule struct {
	next      time.Time // zero for never
	lastRound time.Time
	quiet     int       // rounds in a row that found the same, or failed
	observed  string    // what the last round found
	changed   time.Time // when a round found something else than the one before
}

// roundResult is what a round means for the next one.
type roundResult struct {
	observed   string    // equal if nothing has changed
	nextChange time.Time // when a verdict may change; zero for never
	waiting    bool      // for what no reference tells
}

// start begins a round, after which the next one is not planned yet.
func (s *schedule) start(now time.Time) { s.next, s.lastRound = time.Time{}, now }

// isDue reports whether to run a round though no reference has moved: it is time, or an event has
// woken the loop. An event just after a round is handled a little later.
func (s *schedule) isDue(now time.Time, woken bool) bool {
	if !s.next.IsZero() && !now.Before(s.next) {
		return true
	}
	soon := s.lastRound.Add(minInterval)
	if woken && now.Before(soon) {
		s.next = gate.EarlierTime(s.next, soon)
		return false
	}
	return woken
}

// planFailed plans the next round after a failed one.
func (s *schedule) planFailed(err error, now time.Time, random func() float64) {
	s.quiet++
	s.next = now.Add(repos.BackoffAfter(s.quiet, random()))
	if asked := repos.AskedUntil(err, now); asked.After(s.next) {
		s.next = asked
	}
}

// planNext plans the next round: when a verdict may change, and, while a stage waits for what no
// reference tells, after pauses that grow from the interval as long as nothing is new.
func (s *schedule) planNext(now time.Time, r roundResult, interval time.Duration, random func() float64) {
	if r.observed != s.observed {
		s.observed, s.changed = r.observed, now
	}
	s.quiet++
	if now.Sub(s.changed) < promptFor {
		s.quiet = 0
	}
	s.next = r.nextChange
	switch {
	case !r.waiting:
	case s.quiet == 0 && interval > 0:
		s.next = gate.EarlierTime(s.next, now.Add(interval))
	default:
		s.next = gate.EarlierTime(s.next, now.Add(max(repos.BackoffAfter(max(s.quiet, 1), random()), interval)))
	}
}

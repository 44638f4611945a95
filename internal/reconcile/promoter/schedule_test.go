package promoter

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestIsDue: a round runs when it is time or an event arrives, but not within seconds of the last.
func TestIsDue(t *testing.T) {
	for name, test := range map[string]struct {
		next, last time.Duration // from now; 0 for a zero time
		woken      bool
		due        bool
		then       time.Duration // next afterwards
	}{
		"nothing is planned":                   {last: -time.Hour},
		"an event":                             {last: -time.Hour, woken: true, due: true},
		"an event right after a round":         {last: -time.Second, woken: true, then: 4 * time.Second},
		"an event that a plan comes before":    {last: -time.Second, next: 2 * time.Second, woken: true, then: 2 * time.Second},
		"an event that a plan comes after":     {last: -time.Second, next: time.Minute, woken: true, then: 4 * time.Second},
		"an event when the least time is over": {last: -minInterval, woken: true, due: true},
		"a plan that is still to come":         {last: -time.Hour, next: time.Second, then: time.Second},
		"a plan whose time has come":           {last: -time.Second, next: -time.Millisecond, due: true, then: -time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule{next: fromNoon(test.next), lastRound: fromNoon(test.last)}
			if due := s.isDue(noon, test.woken); due != test.due {
				t.Errorf("isDue = %v, want %v", due, test.due)
			}
			if want := fromNoon(test.then); !s.next.Equal(want) {
				t.Errorf("next round at %v, want %v", s.next, want)
			}
		})
	}
}

func fromNoon(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return noon.Add(d)
}

// TestPlanNext: the next round is planned for the first of what may change and, while something
// waits, the interval; without news for an hour the pauses grow.
func TestPlanNext(t *testing.T) {
	const interval = time.Minute
	for name, test := range map[string]struct {
		before schedule
		result roundResult
		at     time.Duration // of the next round; 0 for never
		quiet  int
	}{
		"nothing waits":                     {result: roundResult{observed: "a"}},
		"a verdict changes":                 {result: roundResult{observed: "a", nextChange: noon.Add(time.Hour)}, at: time.Hour},
		"something waits":                   {result: roundResult{observed: "a", waiting: true}, at: interval},
		"a verdict changes before":          {result: roundResult{observed: "a", waiting: true, nextChange: noon.Add(time.Second)}, at: time.Second},
		"a verdict changes after":           {result: roundResult{observed: "a", waiting: true, nextChange: noon.Add(time.Hour)}, at: interval},
		"the same within the hour":          {before: schedule{observed: "a", changed: noon.Add(-time.Minute), quiet: 7}, result: roundResult{observed: "a", waiting: true}, at: interval},
		"the same for an hour":              {before: schedule{observed: "a", changed: noon.Add(-promptFor)}, result: roundResult{observed: "a", waiting: true}, at: interval, quiet: 1},
		"the same for long":                 {before: schedule{observed: "a", changed: noon.Add(-promptFor), quiet: 30}, result: roundResult{observed: "a", waiting: true}, at: 10 * time.Minute, quiet: 31},
		"news after long":                   {before: schedule{observed: "a", changed: noon.Add(-promptFor), quiet: 30}, result: roundResult{observed: "b", waiting: true}, at: interval},
		"the same for long, nothing waits":  {before: schedule{observed: "a", changed: noon.Add(-promptFor), quiet: 30}, result: roundResult{observed: "a"}, quiet: 31},
		"an old plan that is not due again": {before: schedule{next: noon.Add(time.Hour)}, result: roundResult{observed: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.before
			s.start(noon)
			s.planNext(noon, test.result, interval, func() float64 { return 0 })
			if want := fromNoon(test.at); !s.next.Equal(want) {
				t.Errorf("next round at %v, want %v", s.next, want)
			}
			if s.quiet != test.quiet {
				t.Errorf("%d quiet rounds, want %d", s.quiet, test.quiet)
			}
		})
	}
}

// TestPlanFailed: failed rounds are repeated after pauses that grow.
func TestPlanFailed(t *testing.T) {
	var s schedule
	var last time.Duration
	for i := range 4 {
		s.start(noon)
		s.planFailed(errors.New("refused"), noon, func() float64 { return 0 })
		pause := s.next.Sub(noon)
		if pause <= last {
			t.Errorf("pause %d is %s, after %s", i+1, pause, last)
		}
		last = pause
	}
	for _, err := range []error{&git.BusyError{After: time.Hour}, &forge.RateLimit{Until: noon.Add(time.Hour)}} {
		s.planFailed(fmt.Errorf("push: %w", err), noon, func() float64 { return 0 })
		if pause := s.next.Sub(noon); pause != time.Hour {
			t.Errorf("after %v the pause is %s, want what it asks for", err, pause)
		}
	}
}

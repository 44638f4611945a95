package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestOverdue: who has begun and not ended well for too long is told with the time since
// when, however often it was tried; and so is a loop that is late.
func TestOverdue(t *testing.T) {
	const after = 15 * time.Minute
	at := func(minutes int) time.Time {
		return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
	}
	for name, test := range map[string]struct {
		do           func(*status.Store)
		now          int
		environments []status.Unfinished
		loop         string
	}{
		"nothing has begun": {func(*status.Store) {}, 1000, nil, ""},
		"it goes on":        {func(s *status.Store) { s.StartEnvironment("dev", at(0)) }, 15, nil, ""},
		"it goes on for too long": {func(s *status.Store) { s.StartEnvironment("dev", at(0)); s.StartEnvironment("prod", at(8)) }, 16,
			[]status.Unfinished{{Environment: "dev", Since: at(0)}}, ""},
		"it has failed twice": {func(s *status.Store) {
			s.StartEnvironment("dev", at(0))
			s.StartEnvironment("dev", at(10))
			s.StartEnvironment("a", at(0))
		}, 16,
			[]status.Unfinished{{Environment: "a", Since: at(0)}, {Environment: "dev", Since: at(0)}}, ""},
		"it has ended well since": {func(s *status.Store) {
			s.StartEnvironment("dev", at(0))
			s.FinishEnvironment("dev")
			s.StartEnvironment("dev", at(10))
		}, 16, nil, ""},
		"it is gone":            {func(s *status.Store) { s.StartEnvironment("dev", at(0)); s.RetainEnvironments([]string{"prod"}) }, 16, nil, ""},
		"the first cycle hangs": {func(s *status.Store) { s.StartCycle(at(0)) }, 16, nil, "the cycle that began at 2026-03-01T09:00:00Z has not ended"},
		"the cycle runs":        {func(s *status.Store) { s.StartCycle(at(0)) }, 15, nil, ""},
		"the next cycle is far": {func(s *status.Store) { s.SetCycle(status.Cycle{Number: 1, Next: at(24 * 60)}) }, 24 * 60, nil, ""},
		"the next cycle is late": {func(s *status.Store) { s.StartCycle(at(0)); s.SetCycle(status.Cycle{Number: 1, Next: at(1)}) }, 17, nil,
			"the cycle that was due at 2026-03-01T09:01:00Z has not begun"},
	} {
		var s status.Store
		test.do(&s)
		environments, loop := s.Snapshot().FindOverdue(at(test.now), after)
		if test.environments == nil {
			test.environments = []status.Unfinished{}
		}
		if diff := cmp.Diff(test.environments, environments); diff != "" || loop != test.loop {
			t.Errorf("%s: of the loop is said %q, want %q; environments (-want +got):\n%s", name, loop, test.loop, diff)
		}
	}
}

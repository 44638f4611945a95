package problem_test

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

func TestCapped(t *testing.T) {
	for _, c := range []struct{ stops, warnings, wantStops, wantWarnings int }{
		{0, 0, 0, 0}, {3, 3, 3, 3}, {4, 0, 4, 0}, {5, 3, 4, 3}, {1, 100, 1, 4}, {100, 100, 4, 4},
	} {
		var l problem.List
		for i := range max(c.stops, c.warnings) {
			if i < c.warnings {
				l.Warnf(problem.Pos{File: "a", Line: i}, "", "", "warning %d", i)
			}
			if i < c.stops {
				l.Addf(problem.Pos{File: "a", Line: i}, "", "", "problem %d", i)
			}
		}
		capped := l.Capped(3)
		if stops, warnings := capped.Count(); stops != min(c.stops, 4) && stops != c.wantStops || warnings != min(c.warnings, 4) && warnings != c.wantWarnings {
			t.Errorf("%d and %d: %v", c.stops, c.warnings, capped)
		}
		if capped.Stops() != l.Stops() {
			t.Errorf("%d and %d: it stops: %t", c.stops, c.warnings, capped.Stops())
		}
		if c.stops > 3 && fmt.Sprint(capped.Sorted()) != fmt.Sprint(capped.Capped(4).Sorted()) {
			t.Errorf("capped again it is %v", capped.Capped(4))
		}
		if c.stops == 100 && !contains(capped, "and 97 more") {
			t.Errorf("it does not say how many more: %v", capped)
		}
	}
}

func contains(l problem.List, summary string) bool {
	for _, p := range l {
		if p.Summary == summary {
			return true
		}
	}
	return false
}

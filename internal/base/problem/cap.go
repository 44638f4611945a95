package problem

import (
	"fmt"
	"slices"
)

// Trimmed returns the first n problems that stop their environment and the first n warnings, and
// how many of each it leaves out.
func (l List) Trimmed(n int) (kept List, stops, warnings int) {
	stops, warnings = l.Count()
	if stops <= n && warnings <= n {
		return l, 0, 0
	}
	var seen [2]int
	for _, p := range l {
		kind := severityRank(p)
		seen[kind]++
		if seen[kind] <= n {
			kept = append(kept, p)
		}
	}
	return kept, max(0, stops-n), max(0, warnings-n)
}

// Capped returns the list [List.Trimmed] to n. One more problem, at the place of the last one shown,
// counts the others of its severity.
func (l List) Capped(n int) List {
	kept, stops, warnings := l.Trimmed(n)
	count := func(more int, warning bool) {
		for _, p := range slices.Backward(kept) {
			if more > 0 && p.Warning == warning {
				p.Summary, p.Hint = fmt.Sprintf("and %d more", more), "mend those that are shown first"
				kept = append(kept, p)
				return
			}
		}
	}
	count(warnings, true)
	count(stops, false)
	return kept
}

package problem

import "fmt"

// Capped returns the list with the first n problems that stop their environment and the first n
// warnings. One more problem, at the place of the last one shown, counts the others.
func (l List) Capped(n int) List {
	stops, warnings := l.Count()
	if stops <= n && warnings <= n {
		return l
	}
	capped := make(List, 0, 2*n+2)
	var last [2]Problem
	var seen [2]int
	for _, p := range l {
		kind := severityRank(p)
		seen[kind]++
		if seen[kind] <= n {
			capped = append(capped, p)
			last[kind] = p
		}
	}
	for kind, more := range seen {
		if more > n {
			p := last[kind]
			p.Summary, p.Hint = fmt.Sprintf("and %d more", more-n), "mend those that are shown first"
			capped = append(capped, p)
		}
	}
	return capped
}

package answer

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// ResolvedProblems are mistakes and warnings of the last 24 hours that there are no longer.
type ResolvedProblems struct {
	// KeptSince is since when they are kept, if that is for less than 24 hours: when this process began.
	KeptSince time.Time `json:"keptSince,omitzero"`
	// Total is how many there are, and Found how many were asked for, of which Items are the newest.
	Total int               `json:"total"`
	Found int               `json:"found"`
	Items []ResolvedProblem `json:"items"`
}

// ResolvedProblem is a problem that there is no longer, in all environments in which it was resolved at one time. Its
// Commit is the one that it went with; nil if none of what the environments are made of has moved.
type ResolvedProblem struct {
	Problem
	Until time.Time `json:"until"`
	// Layer is the repository that Commit is of, and Listed reports whether that has a page of its own.
	Layer  string `json:"layer,omitempty"`
	Listed bool   `json:"listed,omitempty"`
}

// findResolved returns the newest problems that there are no longer, of those that are asked for.
func (s Source) findResolved(f ProblemFilter) ResolvedProblems {
	all := s.listResolved()
	answer := ResolvedProblems{Total: len(all), Items: []ResolvedProblem{}}
	if kept := s.Snapshot.KeptSince; s.Snapshot.Cycle.Started.Sub(kept) < status.ResolvedFor {
		answer.KeptSince = kept
	}
	for _, p := range all {
		if f.selects(p.Problem) {
			answer.Items = append(answer.Items, p)
		}
	}
	answer.Found = len(answer.Items)
	answer.Items = answer.Items[:min(len(answer.Items), ListRows)]
	return answer
}

// resolution is how problems were resolved: those of one are described together.
type resolution struct {
	until         time.Time
	layer, commit string
}

// sighting is a problem of an environment.
type sighting struct {
	environment string
	problem     problem.Problem
}

type resolvedTogether struct {
	with   *status.Input
	found  []environmentProblems
	since  map[sighting]time.Time
	inputs []status.Input // in which they were found last
}

func (s Source) listResolved() (all []ResolvedProblem) {
	groups := map[resolution]*resolvedTogether{}
	var order []resolution
	names := append([]string{""}, s.Names()...)
	for _, name := range names {
		for _, r := range s.Snapshot.ProblemLogs[name].Resolved {
			by := resolution{until: r.Until}
			if r.With != nil {
				by.layer, by.commit = r.With.Layer, r.With.Commit
			}
			if groups[by] == nil {
				order, groups[by] = append(order, by), &resolvedTogether{with: r.With, since: map[sighting]time.Time{}}
			}
			g := groups[by]
			r.Problem.Hint = "" // there is nothing to do
			g.found = append(g.found, environmentProblems{name, problem.List{r.Problem}})
			g.since[sighting{name, r.Problem}] = r.Since
			g.inputs = append(g.inputs, r.Inputs...)
		}
	}
	slices.SortStableFunc(order, func(a, b resolution) int { return b.until.Compare(a.until) })
	for _, by := range order {
		g := groups[by]
		since := func(name string, p problem.Problem) time.Time { return g.since[sighting{name, p}] }
		for _, p := range s.shareProblems(g.found, g.inputs, since) {
			one := ResolvedProblem{Problem: p, Until: by.until}
			if g.with != nil {
				one.Commit = &Commit{g.with.About, giturl.CommitPage(s.repoOf(*g.with), by.commit)}
				one.Layer, one.Listed = by.layer, by.layer == "base" && s.Snapshot.Chain.IndexCommit(by.commit) >= 0
			}
			all = append(all, one)
		}
	}
	return all
}

// repoOf returns the repository of an input; what the order of promotion is made of does not name it.
func (s Source) repoOf(in status.Input) string { return cmp.Or(in.Repo, s.findRepo(in.Layer)) }

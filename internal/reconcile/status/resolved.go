package status

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

const (
	// ResolvedFor is how long a resolved problem is kept, at most maxResolved per environment.
	ResolvedFor = 24 * time.Hour
	maxResolved = 100
)

// ProblemLog has the problems of an environment since the process started. It is immutable.
type ProblemLog struct {
	// Seen has current problems, and those that a newer one may only hide.
	Seen     map[ProblemID]Sighting
	Resolved []Resolved
}

// ProblemID survives moved lines. Equal problems at two lines of a file share it.
type ProblemID struct{ Layer, File, Subject, Summary string }

// Sighting is a problem with the times when it was found.
type Sighting struct {
	problem.Problem
	// Since and Last are the first and last cycle that found it; Last read Inputs.
	Since, Last time.Time
	Inputs      []Input
}

// Resolved is a problem that no longer exists.
type Resolved struct {
	Sighting
	// Until is the first cycle that did not find it.
	Until time.Time
	// With is the changed input that resolved it; nil if none changed.
	With *Input
}

var lineNumber = regexp.MustCompile(`:\d+`)

func identifyProblem(p problem.Problem) ProblemID {
	return ProblemID{p.Pos.Layer, p.Pos.File, p.Subject, lineNumber.ReplaceAllString(p.Summary, ":")}
}

// Follow returns the log after a cycle. A missing problem is not resolved while a newer one may
// hide it.
func (l ProblemLog) Follow(found problem.List, inputs []Input, now time.Time) ProblemLog {
	next := ProblemLog{Seen: make(map[ProblemID]Sighting, len(found))}
	gone := maps.Clone(l.Seen)
	for _, p := range found {
		delete(gone, identifyProblem(p))
	}
	newest := map[string]Sighting{} // stopping problems, by stack or "" for the environment
	for _, p := range found {
		id := identifyProblem(p)
		if _, again := next.Seen[id]; again {
			continue
		}
		s, known := l.Seen[id]
		if !known {
			s.Since = takeMoved(gone, id, now)
		}
		s.Problem, s.Last, s.Inputs = p, now, inputs
		next.Seen[id] = s
		if !p.Warning && s.Since.After(newest[p.Stack].Since) {
			newest[p.Stack] = s
		}
	}
	for id, s := range gone {
		hides := func(other Sighting) bool { return other.Since.After(s.Last) && other.MayHide(s.Problem) }
		if slices.ContainsFunc(slices.Collect(maps.Values(newest)), hides) {
			next.Seen[id] = s
			continue
		}
		next.Resolved = append(next.Resolved, Resolved{s, now, findMoved(s, inputs)})
	}
	slices.SortFunc(next.Resolved, func(a, b Resolved) int {
		return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Summary, b.Summary))
	})
	for _, r := range l.Resolved {
		if _, back := next.Seen[identifyProblem(r.Problem)]; !back {
			next.Resolved = append(next.Resolved, r)
		}
	}
	return next.expire(now)
}

// takeMoved returns a new problem's start: that of an equal one elsewhere, removed from gone, or
// now.
func takeMoved(gone map[ProblemID]Sighting, id ProblemID, now time.Time) time.Time {
	isSame := func(was ProblemID) bool { return was.Subject == id.Subject && was.Summary == id.Summary }
	for _, was := range slices.SortedFunc(maps.Keys(gone), func(a, b ProblemID) int { return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.File, b.File)) }) {
		if isSame(was) {
			since := gone[was].Since
			delete(gone, was)
			return since
		}
	}
	return now
}

// findMoved returns the changed input that may have resolved a problem: its own repository, or else
// the first; nil for none. A promotion's own commit comes last, because it fixes nothing.
func findMoved(s Sighting, inputs []Input) (moved *Input) {
	for _, in := range inputs {
		isAsBefore := slices.ContainsFunc(s.Inputs, func(was Input) bool { return was.Layer == in.Layer && was.Commit == in.Commit })
		if isAsBefore || in.About.ID == "" {
			continue
		}
		if in.Layer == s.Pos.Layer && !in.Promotes {
			return &in
		}
		if moved == nil || moved.Promotes {
			moved = &in
		}
	}
	return moved
}

func (l ProblemLog) expire(now time.Time) ProblemLog {
	old := slices.IndexFunc(l.Resolved, func(r Resolved) bool { return now.Sub(r.Until) >= ResolvedFor })
	if old < 0 {
		old = len(l.Resolved)
	}
	l.Resolved = l.Resolved[:min(old, maxResolved)]
	return l
}

// followProblems records problems of an environment; "" is the promotion order. at counts if no
// cycle runs. The caller holds the lock.
func (s *Store) followProblems(environment string, found problem.List, inputs []Input, at time.Time) {
	if s.problems == nil {
		s.problems = map[string]ProblemLog{}
	}
	if !s.began.IsZero() { // a cycle resolves everything at one time
		at = s.began
	}
	s.problems[environment] = s.problems[environment].Follow(found, inputs, at)
}

// FoundSince returns when this process first found a problem; zero if unknown.
func (s Snapshot) FoundSince(environment string, p problem.Problem) time.Time {
	return s.ProblemLogs[environment].Seen[identifyProblem(p)].Since
}

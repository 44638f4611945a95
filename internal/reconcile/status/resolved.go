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
	// ResolvedFor is for how long a problem is kept after it was resolved, and maxResolved how many of an environment
	// are: the newest.
	ResolvedFor = 24 * time.Hour
	maxResolved = 100
)

// ProblemLog is what is known of the problems of an environment since the process began. Nothing may change it.
type ProblemLog struct {
	// Seen are the problems that there are, and those that may only be hidden by a newer one.
	Seen map[ProblemID]Sighting
	// Resolved are those that there are no longer, the newest first.
	Resolved []Resolved
}

// ProblemID tells a problem from the others of its environment, also when lines of its file have moved. What is wrong in
// the same way at two lines of a file has one.
type ProblemID struct{ Layer, File, Subject, Summary string }

// Sighting is when a problem was found.
type Sighting struct {
	problem.Problem
	// Since is when a cycle found it first, and Last when one found it last, in what was read of Inputs.
	Since, Last time.Time
	Inputs      []Input
}

// Resolved is a problem that there is no longer.
type Resolved struct {
	Sighting
	// Until is when a cycle no longer found it.
	Until time.Time
	// With is the input whose commit it went with; nil if none has another commit than before.
	With *Input
}

// lineNumber is the line of a place in a sentence.
var lineNumber = regexp.MustCompile(`:\d+`)

func identifyProblem(p problem.Problem) ProblemID {
	return ProblemID{p.Pos.Layer, p.Pos.File, p.Subject, lineNumber.ReplaceAllString(p.Summary, ":")}
}

// Follow returns the log after a cycle at a time has found problems in what it read of inputs. While there is a newer
// problem that may hide one that is not found, that is not resolved yet.
func (l ProblemLog) Follow(found problem.List, inputs []Input, now time.Time) ProblemLog {
	next := ProblemLog{Seen: make(map[ProblemID]Sighting, len(found))}
	gone := maps.Clone(l.Seen)
	for _, p := range found {
		delete(gone, identifyProblem(p))
	}
	newest := map[string]Sighting{} // of those that stop the environment, or a stack, by what they stop
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

// takeMoved returns since when a problem is there that was not found before: of the same one that is gone elsewhere,
// which it takes from those that are, when that was found.
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

// findMoved returns the input whose commit is another one than when a problem was found last: that of the repository of
// the problem if it has moved, and otherwise the first one; nil if none has that is known. A commit that only records a
// promotion has mended nothing: the commit that it promoted to has, if that is known.
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

// expire returns the log without what was resolved too long ago.
func (l ProblemLog) expire(now time.Time) ProblemLog {
	old := slices.IndexFunc(l.Resolved, func(r Resolved) bool { return now.Sub(r.Until) >= ResolvedFor })
	if old < 0 {
		old = len(l.Resolved)
	}
	l.Resolved = l.Resolved[:min(old, maxResolved)]
	return l
}

// followProblems records the problems that a cycle has found of an environment; "" is the order of promotion. at is when
// they were found, if no cycle runs. The caller holds the lock.
func (s *Store) followProblems(environment string, found problem.List, inputs []Input, at time.Time) {
	if s.problems == nil {
		s.problems = map[string]ProblemLog{}
	}
	if !s.began.IsZero() { // what one cycle has resolved is resolved at one time
		at = s.began
	}
	s.problems[environment] = s.problems[environment].Follow(found, inputs, at)
}

// FoundSince returns when a problem of an environment was found first, in this process; zero if it is not known.
func (s Snapshot) FoundSince(environment string, p problem.Problem) time.Time {
	return s.ProblemLogs[environment].Seen[identifyProblem(p)].Since
}

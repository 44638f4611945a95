// Package problem describes mistakes in what people write: where, what, and how to fix them.
//
// A [Problem] is a value, not an error. Problems are collected in a [List], so that one run reports
// all of them; Go errors are for failed operations.
//
// What the package keeps true: a sorted list has no duplicates and one order: problems before
// warnings, each by layer, file, line, subject and summary. A Problem prints the same everywhere.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in what people wrote. The zero Pos means that no place is known.
type Pos struct {
	// Layer is the repository that the file is in: "base", the environment's
	// name, the name of a workload registration, or "built-in".
	Layer string `json:"layer,omitempty"`
	// File is the path from the root of that repository, with slashes.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 is the file as a whole.
	Line int `json:"line,omitempty"`
}

// String returns "layer/file:line", without unknown parts.
func (p Pos) String() string {
	s := p.File
	if p.Layer != "" {
		s = p.Layer + "/" + s
	}
	s = strings.TrimSuffix(s, "/")
	if p.Line > 0 && s != "" {
		return fmt.Sprintf("%s:%d", s, p.Line)
	}
	return s
}

// Compare orders places by layer, file and line.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(
		cmp.Compare(p.Layer, q.Layer),
		cmp.Compare(p.File, q.File),
		cmp.Compare(p.Line, q.Line),
	)
}

// Problem is one mistake.
type Problem struct {
	Pos Pos `json:"pos"`
	// Subject is the object that the problem is about, as "Kind/name".
	Subject string `json:"subject,omitempty"`
	// Summary is one sentence, without a full stop.
	Summary string `json:"summary"`
	// Hint is what to do about it; "" if there is nothing useful to add.
	Hint string `json:"hint,omitempty"`
	// Warning marks what is probably a mistake and stops nothing.
	Warning bool `json:"warning,omitempty"`
	// Stack is the only stack that the problem stops, as "team/environment", or "team/*"; "" if it
	// stops the environment.
	Stack string `json:"-"`
	// OfAbsence means that something was not found: it may be in a repository or file that could
	// not be read.
	OfAbsence bool `json:"-"`
}

// String returns "path:line: Kind/name: sentence", without the hint.
func (p Problem) String() string {
	parts := make([]string, 0, 3)
	if pos := p.Pos.String(); pos != "" {
		parts = append(parts, pos)
	}
	if p.Subject != "" {
		parts = append(parts, p.Subject)
	}
	return strings.Join(append(parts, p.Summary), ": ")
}

// AllStacks is the suffix of a Stack that names all stacks of a team.
const AllStacks = "/*"

func (p Problem) isOfStack(stack string) bool {
	team, all := strings.CutSuffix(p.Stack, AllStacks)
	return p.Stack == stack || all && strings.HasPrefix(stack, team+"/")
}

func (p Problem) stops(stack string) bool { return !p.Warning && (p.Stack == "" || p.isOfStack(stack)) }

// MayHide reports whether the problem may be why q is no longer found: it stops the environment, or
// q's stack, which is unknown for a warning.
func (p Problem) MayHide(q Problem) bool {
	return !p.Warning && (p.Stack == "" || q.Warning || p.isOfStack(q.Stack) || q.isOfStack(p.Stack))
}

func (p Problem) compare(q Problem) int {
	return cmp.Or(
		p.Pos.Compare(q.Pos),
		cmp.Compare(p.Subject, q.Subject),
		cmp.Compare(p.Summary, q.Summary),
		cmp.Compare(p.Hint, q.Hint),
		cmp.Compare(p.Stack, q.Stack),
	)
}

func (p Problem) order(q Problem) int {
	return cmp.Or(cmp.Compare(severityRank(q), severityRank(p)), p.compare(q))
}

// List is a collection of problems, in the order of discovery until [List.Sorted].
type List []Problem

// Addf appends a problem that stops its environment.
func (l *List) Addf(pos Pos, subject, hint, format string, args ...any) {
	*l = append(*l, Problem{Pos: pos, Subject: subject, Hint: hint, Summary: fmt.Sprintf(format, args...)})
}

// Warnf appends a warning.
func (l *List) Warnf(pos Pos, subject, hint, format string, args ...any) {
	*l = append(*l, Problem{Pos: pos, Subject: subject, Hint: hint, Summary: fmt.Sprintf(format, args...), Warning: true})
}

// Sorted returns the problems in order, without duplicates. A problem replaces an equal warning.
func (l List) Sorted() List {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(a.compare(b), cmp.Compare(severityRank(b), severityRank(a)))
	})
	sorted = slices.CompactFunc(sorted, func(a, b Problem) bool { return a.compare(b) == 0 })
	slices.SortStableFunc(sorted, Problem.order)
	return sorted
}

func severityRank(p Problem) int {
	if p.Warning {
		return 0
	}
	return 1
}

// WithFollowUps appends problems that the list may have caused: if the list stops anything, those
// OfAbsence become warnings.
func (l List) WithFollowUps(more List) List {
	if !l.Stops() {
		return append(slices.Clone(l), more...)
	}
	all := slices.Clone(l)
	for _, p := range more {
		p.Warning = p.Warning || p.OfAbsence
		all = append(all, p)
	}
	return all
}

// Stops reports whether any problem is not a warning.
func (l List) Stops() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return !p.Warning })
}

// StopsEnvironment reports whether any problem stops the whole environment.
func (l List) StopsEnvironment() bool { return l.StopsStack("") }

// StopsStack reports whether any problem stops a stack or its environment.
func (l List) StopsStack(stack string) bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.stops(stack) })
}

// FindStopping returns the problems that stop a stack.
func (l List) FindStopping(stack string) List {
	return slices.DeleteFunc(slices.Clone(l), func(p Problem) bool { return !p.stops(stack) })
}

// StoppedStacks returns the first problem of each stopped stack, sorted by stack. "team/*" is
// omitted if stacks of the team are listed.
func (l List) StoppedStacks() []Problem {
	var all []Problem
	for _, p := range l {
		if !p.Warning && p.Stack != "" && !slices.ContainsFunc(all, func(q Problem) bool { return q.Stack == p.Stack }) {
			all = append(all, p)
		}
	}
	found := slices.Clone(all)
	all = slices.DeleteFunc(all, func(p Problem) bool {
		return slices.ContainsFunc(found, func(q Problem) bool { return q.Stack != p.Stack && p.isOfStack(q.Stack) })
	})
	slices.SortFunc(all, func(a, b Problem) int { return cmp.Compare(a.Stack, b.Stack) })
	return all
}

// StoppingStack returns the problems, with this stack as the one that they stop.
func (l List) StoppingStack(stack string) List {
	all := slices.Clone(l)
	for i := range all {
		if !all[i].Warning {
			all[i].Stack = stack
		}
	}
	return all
}

// FirstStopping returns the first problem that is not a warning.
func (l List) FirstStopping() (Problem, bool) {
	i := slices.IndexFunc(l, func(p Problem) bool { return !p.Warning })
	if i < 0 {
		return Problem{}, false
	}
	return l[i], true
}

// Count returns the numbers of problems and warnings.
func (l List) Count() (problems, warnings int) {
	for _, p := range l {
		if p.Warning {
			warnings++
		} else {
			problems++
		}
	}
	return problems, warnings
}

// Trimmed returns the first n problems and n warnings, and the numbers of omitted ones.
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

// Capped is [List.Trimmed] with a further problem per severity that counts the omitted ones.
func (l List) Capped(n int) List {
	kept, stops, warnings := l.Trimmed(n)
	count := func(more int, warning bool) {
		for _, p := range slices.Backward(kept) {
			if more > 0 && p.Warning == warning {
				p.Summary, p.Hint = fmt.Sprintf("and %d more", more), "fix those that are shown first"
				kept = append(kept, p)
				return
			}
		}
	}
	count(warnings, true)
	count(stops, false)
	return kept
}

// FindNearest returns the candidate with the smallest edit distance from name, or "" if none is
// near.
func FindNearest(name string, candidates []string) string {
	best, bestDistance := "", 1+min(3, (len(name)+2)/3)
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance && c != name {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean returns a hint with the nearest candidate, or "".
func DidYouMean(name string, candidates []string) string {
	if n := FindNearest(name, candidates); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return ""
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbouring bytes (optimal
// string alignment).
func editDistance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			substitution := above[j]
			if a[i] != b[j] {
				substitution++
			}
			row[j+1] = min(substitution, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

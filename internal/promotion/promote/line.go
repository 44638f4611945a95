package promote

import (
	"cmp"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Line is the commits that are promoted, in their order: those of the base's branch, or the releases of a lane.
type Line struct {
	commits   []string // newest first
	positions map[string]position
	origin    string // "" for the base's branch
	name      func(commit string) string
	barred    map[string]string
}

// Barring returns the line with commits that no environment gets any more, and why.
func (l Line) Barring(reasons map[string]string) Line {
	l.barred = reasons
	return l
}

// Named returns the line of another branch, whose commits have names.
func (l Line) Named(origin string, name func(commit string) string) Line {
	l.origin, l.name = origin, name
	return l
}

func (l Line) describe(commit string) string {
	if l.name == nil {
		return text.ShortCommit(commit)
	}
	return l.name(commit)
}

func (l Line) describeOrigin() string { return cmp.Or(l.origin, "the base's branch") }

// position is where a commit is on a line: commits[:newer] contain it, and it contains
// commits[older:].
type position struct {
	newer, older int
	isSide       bool // it is not one of the commits
}

// SideCommit is a commit that the base's branch contains outside of its first parents, because a
// merge brought it. An environment may have it, and never gets it.
type SideCommit struct {
	Commit string
	// Newer counts the commits of the line that contain it, and Older those that it does not
	// contain.
	Newer, Older int
}

// NewLine returns the line of commits, newest first, each of which contains the ones after
// it.
func NewLine(commits []string, beside ...SideCommit) Line {
	l := Line{commits: commits, positions: make(map[string]position, len(commits)+len(beside))}
	for i, c := range commits {
		l.positions[c] = position{newer: i, older: i + 1}
	}
	for _, b := range beside {
		l.positions[b.Commit] = position{b.Newer, b.Older, true}
	}
	return l
}

// Head returns the newest commit; "" if there is none.
func (l Line) Head() string {
	if len(l.commits) == 0 {
		return ""
	}
	return l.commits[0]
}

// Contains reports whether a commit is on the line.
func (l Line) Contains(commit string) bool {
	_, ok := l.positions[commit]
	return ok
}

// IsNewer reports whether commit a is newer than b: whether it contains b. Any commit is newer than
// "".
func (l Line) IsNewer(a, b string) bool {
	if b == "" {
		return l.Contains(a)
	}
	x, known := l.positions[a]
	y, too := l.positions[b]
	if !known || !too || a == b {
		return false
	}
	return x.older < y.newer || x.older == y.newer && !(x.isSide && y.isSide)
}

// Position returns how many commits contain one, and how many it does not contain; false if it is not on the
// line.
func (l Line) Position(commit string) (newer, older int, known bool) {
	p, known := l.positions[commit]
	return p.newer, p.older, known
}

// newerCommits returns the commits that are newer than one, newest first: all if it is "", and none
// if it is not on the line.
func (l Line) newerCommits(commit string) []string {
	if commit == "" {
		return l.commits
	}
	return l.commits[:l.positions[commit].newer]
}

// OldestNewer returns the oldest commit that is newer than one, which an environment with that
// commit has waited for longest; "" if there is none.
func (l Line) OldestNewer(commit string) string {
	newer := l.newerCommits(commit)
	if len(newer) == 0 {
		return ""
	}
	return newer[len(newer)-1]
}

func (l Line) reachedIndex(commit string) int {
	if p := l.positions[commit]; p.isSide {
		return p.older
	}
	return l.positions[commit].newer
}

// CountNewer returns how many commits are newer than one; 0 if it is not on the line.
func (l Line) CountNewer(commit string) int { return l.positions[commit].newer }

// CommitsBetween returns the commits that are older than a and newer than b, newest first: all that
// are older than a if b is not one of the older ones, and none if a is not on the line.
func (l Line) CommitsBetween(a, b string) []string {
	p, ok := l.positions[a]
	if !ok {
		return nil
	}
	if q, ok := l.positions[b]; ok && q.newer >= p.older {
		return l.commits[p.older:q.newer]
	}
	return l.commits[p.older:]
}

// Commits returns all commits of the line, newest first. The caller must not change them.
func (l Line) Commits() []string { return l.commits }

package status

import (
	"slices"
	"time"
)

// Turn is a promotion or rollback of an environment.
type Turn struct {
	Commit string // of the base
	// From is the previous commit; "" if unknown or none.
	From       string
	RolledBack bool
	When       time.Time
	Who        string
	Reason     string // written by the person, or found by Fairlead
	Forced     string // reason for forcing it; "" if not forced
	// Unmerged is a superseded commit whose output was never merged; "" for none.
	Unmerged string
}

// FindTurn returns the last promotion to a commit and the one after it; nil for none.
func (s Stage) FindTurn(commit string) (got, next *Turn) {
	i := slices.IndexFunc(s.Turns, func(t Turn) bool { return t.Commit == commit })
	switch {
	case i < 0:
		return nil, nil
	case i == 0:
		return &s.Turns[0], nil
	}
	return &s.Turns[i], &s.Turns[i-1]
}

// LeftOut reports whether an environment skipped a commit: it was never promoted to it, or
// superseded it before the merge. older reports whether the commit contains another.
func (s Stage) LeftOut(commit string, older func(commit string) bool) bool {
	got, next := s.FindTurn(commit)
	if got == nil {
		return slices.ContainsFunc(s.Turns, func(t Turn) bool { return older(t.Commit) })
	}
	return next != nil && next.Unmerged == commit
}

// HadNothingBefore reports whether the environment had no other commit.
func (s Stage) HadNothingBefore() bool { return s.Commit == "" || s.FirstCommit }

// Position is the position of a commit on the base's line: the first Newer commits contain it, and
// it contains all but the first Older.
type Position struct{ Newer, Older int }

// Contains reports whether known commit i contains another, j. Unrendered commits are known newest
// first.
func (c Chain) Contains(i, j int) bool {
	older, newer := c.position(i).Older, c.position(j).Newer
	if older == newer && c.Commits[i].Beside != nil && c.Commits[j].Beside != nil { // both are between the same commits of the line
		return c.Commits[i].Unrendered && c.Commits[j].Unrendered && i < j
	}
	return i != j && older <= newer
}

func (c Chain) position(i int) Position {
	if p := c.Commits[i].Beside; p != nil {
		return *p
	}
	return Position{i, i + 1}
}

package status

import (
	"slices"
	"time"
)

// Turn is one commit that an environment got: by a promotion, or because somebody rolled it back.
type Turn struct {
	Commit string // of the base
	// From is the commit that it had before; "" if it had none, or that is not known.
	From string
	// RolledBack reports that a person took the environment back to it.
	RolledBack bool
	When       time.Time
	Who        string
	Reason     string // what the person wrote, or what Fairlead found; "" if nothing
	Forced     string // why a person forced it; "" if nobody did
	// Unmerged is the commit that it superseded before the output was merged, so that no cluster got it; "" for none.
	Unmerged string
}

// FindTurn returns the last time that an environment got a commit, and the turn after it, which took the commit
// away; nil if it never did, or still has it.
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

// LeftOut reports whether an environment, which has a newer commit, is known never to have had one: it was not
// promoted to it, or a newer one took its place before it was merged. older reports whether a commit is one that the
// commit contains.
func (s Stage) LeftOut(commit string, older func(commit string) bool) bool {
	got, next := s.FindTurn(commit)
	if got == nil {
		return slices.ContainsFunc(s.Turns, func(t Turn) bool { return older(t.Commit) })
	}
	return next != nil && next.Unmerged == commit
}

// HadNothingBefore reports whether the environment is known to have had no other commit than its own.
func (s Stage) HadNothingBefore() bool { return s.Commit == "" || s.FirstCommit }

// Position is where a commit is on the line of the base's branch: the first Newer commits of the line contain
// it, and it contains all but the first Older.
type Position struct{ Newer, Older int }

// Contains reports whether the i-th of the known commits contains the j-th, and is another one. Commits that change
// nothing that is rendered are known newest first.
func (c Chain) Contains(i, j int) bool {
	older, newer := c.position(i).Older, c.position(j).Newer
	if older == newer && c.Commits[i].Beside != nil && c.Commits[j].Beside != nil { // both are between two commits of the line
		return c.Commits[i].Unrendered && c.Commits[j].Unrendered && i < j
	}
	return i != j && older <= newer
}

// position returns where the i-th known commit is on the line. Those on it come first.
func (c Chain) position(i int) Position {
	if p := c.Commits[i].Beside; p != nil {
		return *p
	}
	return Position{i, i + 1}
}

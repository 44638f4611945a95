package promoter

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// outputHolds reports whether an output branch holds, in a folder, what was rendered for an
// environment from a commit of the base. The record there names both, and what is beside it
// has to be what it names: somebody may have taken the files back and left the record.
func (m *Mover) outputHolds(repo *git.Repository, head, folder, environment, commit string) (bool, error) {
	view, err := repo.View(head)
	if err != nil {
		return false, err
	}
	now := view.Tree.Sub(folder)
	e, ok := now.Lookup(publish.RecordFile)
	if err := view.Err(); err != nil || !ok || e.IsDir() {
		return false, err
	}
	r, err := m.Records.Read(e)
	if err != nil { // a person has edited it; publishing reports that
		return false, nil
	}
	for _, w := range r.Environments {
		for _, from := range w.From {
			if w.Environment == environment && from.Layer == "base" && from.Commit == commit {
				holds := w.IsIn(now)
				return holds, view.Err()
			}
		}
	}
	return false, nil
}

// maxAhead bounds how many commits before one are looked at for a time that is not ahead.
const maxAhead = 100

// notAhead returns when a commit was made; if it says that this is still to come, its clock was
// wrong, and the newest time before it that is not ahead of now is the least that is known.
func notAhead(repo *git.Repository, c git.CommitInfo, now time.Time) (time.Time, error) {
	for range maxAhead {
		if !c.When.After(now) {
			return c.When, nil
		}
		if len(c.Parents) == 0 {
			break
		}
		before, err := repo.Commit(c.Parents[0])
		if err != nil {
			return time.Time{}, err
		}
		c = before
	}
	return time.Time{}, nil
}

// earliest returns the earlier one of two times.
func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

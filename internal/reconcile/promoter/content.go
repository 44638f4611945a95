package promoter

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// IsOutputOf reports whether an output branch holds, in a folder, what was rendered for an
// environment from a base. The record names both, and the files beside it must be
// those that it names: a person may have reverted the files and left the record. records may be
// nil.
func IsOutputOf(records *publish.Records, repo *git.Repository, head, folder, environment string, base lane.Composition) (bool, error) {
	from, err := findOutputOrigin(records, repo, head, folder, environment)
	return err == nil && from.Equal(base), err
}

type outputOrigin struct {
	lane.Composition
	plane   string
	isMixed bool // it is between two waves
}

func findOutputOrigin(records *publish.Records, repo *git.Repository, head, folder, environment string) (outputOrigin, error) {
	return git.InspectTree(repo, head, func(t tree.Tree) (outputOrigin, error) {
		now := t.Sub(folder)
		r, err := records.ReadIn(now)
		if err != nil { // a person has edited it; publishing reports that
			return outputOrigin{}, nil
		}
		for _, w := range r.Environments {
			from, ok := w.Input(publish.BaseLayer)
			if ok && w.Environment == environment && w.IsIn(now) {
				plane, _ := w.Input(environment)
				return outputOrigin{lane.Composition{Platform: from.Commit, Lanes: from.Lanes}, plane.Commit, w.Advance != nil}, nil
			}
		}
		return outputOrigin{}, nil
	})
}

const maxFutureCommits = 100

// trustedTime returns when a commit was made. If that is in the future, its clock was wrong, and
// the newest earlier time that is not in the future is used.
func trustedTime(repo *git.Repository, c git.CommitInfo, now time.Time) (time.Time, error) {
	for range maxFutureCommits {
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

package promoter

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// maxTurns bounds how many commits of an environment's branch are read for what it got.
const maxTurns = 500

// cachedTurns is what was last read of an environment's branch. It may be lost.
type cachedTurns struct {
	head  string
	turns []history.Entry
	first bool // the environment had no commit before
}

// findTurns returns the commits that an environment got, newest first, as far as its branch says; none if it
// cannot be read: they are shown, and decide nothing.
func (m *Promoter) findTurns(s *stageState) cachedTurns {
	b := s.branch
	if b.Repo == nil || b.Head == "" {
		return cachedTurns{}
	}
	if s.memory.turns.head == b.Head {
		return s.memory.turns
	}
	entries, err := history.Read(history.Branch{Environment: s.spec.Name, Repo: b.Repo, URL: b.URL, Head: b.Head, CommitAt: b.CommitAt}, maxTurns, s.subjectOf)
	if err != nil {
		return cachedTurns{}
	}
	turns := slices.DeleteFunc(entries, func(e history.Entry) bool {
		return e.Environment != s.spec.Name || e.To == "" || e.Action != history.PromoteAction && e.Action != history.RollbackAction
	})
	s.memory.turns = cachedTurns{b.Head, turns, len(turns) == 1 && turns[0].From == "" || len(turns) == 0 && isFirstRecord(b)}
	return s.memory.turns
}

// isFirstRecord reports whether the record of a branch is the first one that names a commit: nothing that the history
// knows has written it.
func isFirstRecord(b source.Branch) bool {
	written, err := b.Repo.LastChangedBy(b.Head, b.Record, maxTurns)
	if err != nil {
		return false
	}
	if len(written.Parents) == 0 {
		return true
	}
	before, err := b.CommitAt(written.Parents[0])
	return err == nil && before == ""
}

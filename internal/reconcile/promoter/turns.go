package promoter

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// maxTurns bounds how many commits of an environment's branch are read for what it got.
const maxTurns = 500

// cachedTurns is what was last read of an environment's branch. It may be lost.
type cachedTurns struct {
	head  string
	turns []history.Entry
}

// findTurns returns the commits that an environment got, newest first, as far as its branch says; none if it
// cannot be read: they are shown, and decide nothing.
func (m *Promoter) findTurns(s *stageState) []history.Entry {
	b := s.branch
	if b.Repo == nil || b.Head == "" {
		return nil
	}
	if s.memory.turns.head == b.Head {
		return s.memory.turns.turns
	}
	entries, err := history.Read(history.Branch{Environment: s.spec.Name, Repo: b.Repo, URL: b.URL, Head: b.Head, CommitAt: b.CommitAt}, maxTurns, s.subjectOf)
	if err != nil {
		return nil
	}
	turns := slices.DeleteFunc(entries, func(e history.Entry) bool {
		return e.Environment != s.spec.Name || e.To == "" || e.Action != history.PromoteAction && e.Action != history.RollbackAction
	})
	s.memory.turns = cachedTurns{b.Head, turns}
	return turns
}

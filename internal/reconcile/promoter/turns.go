package promoter

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/git"
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
	// line are the newest commits of the branch, newest first, and edits those that people made.
	line  []string
	edits []git.CommitInfo
	paths []changedPaths // of edits
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
	s.memory.turns = findEdits(b)
	s.memory.turns.head, s.memory.turns.turns = b.Head, turns
	s.memory.turns.first = len(turns) == 1 && turns[0].From == "" || len(turns) == 0 && isFirstRecord(b)
	return s.memory.turns
}

// maxEdits bounds the commits of an environment's branch that are described to people, of which some record actions.
const maxEdits = 50

// findEdits returns the newest commits of a branch, and which of them people made; none if it cannot be read, as
// findTurns does, or if it has more than the environment. The other commits are in the history.
func findEdits(b source.Branch) (t cachedTurns) {
	if b.Folder != "" {
		return t
	}
	line, err := b.Repo.FirstParents(b.Head, maxEdits, func(string) bool { return false })
	if err != nil {
		return t
	}
	t.line = line
	for _, id := range line {
		info, err := b.Repo.Commit(id)
		if err == nil && !history.IsAction(info) {
			t.edits, t.paths = append(t.edits, info), append(t.paths, describedCommits{}.findPaths(b.Repo, info))
		}
	}
	return t
}

// findEdit returns the newest edit that a commit of the branch is or contains; "" if that is not known.
func (t cachedTurns) findEdit(commit string) string {
	at := slices.Index(t.line, commit)
	for _, e := range t.edits {
		if at >= 0 && slices.Index(t.line, e.ID) >= at {
			return e.ID
		}
	}
	return ""
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

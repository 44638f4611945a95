package chain

import (
	"errors"
	"maps"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// maxKnown bounds how many commits are remembered to be of people, or of their levers.
const maxKnown = 20_000

// promotable gives the line of the base's branch, newest first, back to the oldest commit
// that an environment has. Commits that change nothing but what our commands write there
// are left out, unless an environment has one: a freeze is not something to promote.
func (m *Mover) promotable(repo *git.Repository, head string, has map[string]bool) ([]string, error) {
	if m.levers == nil || len(m.levers) > maxKnown {
		m.levers = map[string]bool{}
	}
	var kept []string
	var failed error
	missing := maps.Clone(has)
	_, err := repo.FirstParents(head, maxLine, func(commit string) bool {
		lever, known := m.levers[commit]
		if !known {
			if lever, failed = isLever(repo, commit); failed != nil {
				return true
			}
			m.levers[commit] = lever
		}
		if delete(missing, commit); !lever || has[commit] {
			kept = append(kept, commit)
		}
		return len(missing) == 0 && len(kept) > 0
	})
	return kept, errors.Join(err, failed)
}

// Promotable gives what a revision of the base stands for: its commit, or the newest
// before it that changes more than what our commands write.
func Promotable(repo *git.Repository, revision string) (string, error) {
	commit, err := repo.Resolve(revision)
	if err != nil {
		return "", err
	}
	var failed error
	line, err := repo.FirstParents(commit, maxLine, func(commit string) bool {
		var lever bool
		lever, failed = isLever(repo, commit)
		return !lever || failed != nil
	})
	if err = errors.Join(err, failed); err != nil {
		return "", err
	}
	return line[len(line)-1], nil
}

// isLever reports whether a commit differs from its first parent in our folder only.
func isLever(repo *git.Repository, commit string) (bool, error) {
	info, err := repo.Commit(commit)
	if err != nil || len(info.Parents) == 0 {
		return false, err
	}
	var rest [2]tree.ID
	for i, at := range []string{commit, info.Parents[0]} {
		view, err := repo.View(at)
		if err != nil {
			return false, err
		}
		var others []tree.Entry
		for _, e := range view.Tree.Entries() {
			if e.Name != source.OwnFolder {
				others = append(others, e)
			}
		}
		if err := view.Err(); err != nil {
			return false, err
		}
		rest[i] = tree.FromEntries(others).ID()
	}
	before, err := repo.Commit(info.Parents[0])
	return rest[0] == rest[1] && before.Tree != info.Tree, err // an empty commit is somebody's
}

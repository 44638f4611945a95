package publish

import (
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// owner is whose a branch is.
type owner int

const (
	ownerUs      owner = iota // or merged, so that nothing is lost
	ownerEdited               // ours, with somebody else's commit on it
	ownerForeign              // somebody else's
)

// maxCommits bounds how far a branch is looked into.
const maxCommits = 200

// owner says whose the branch with this head is, and which commit says so.
func (w *work) owner(head string) (owner, string, error) {
	info, err := w.repo.Commit(head)
	if err != nil {
		return ownerUs, "", err
	}
	mine, err := w.isOurs(info)
	if err != nil || mine {
		return ownerUs, "", err
	}
	merged, err := w.merged(head)
	if err != nil || merged {
		return ownerUs, "", err
	}
	if ok, err := w.onlyUpdates(info); err != nil || ok {
		return ownerUs, "", err
	}
	// The head is somebody's. Is there a commit of ours below it?
	next, seen := info.Parents, map[string]bool{}
	for len(next) > 0 && len(seen) < maxCommits {
		id := next[0]
		next = next[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		below, err := w.repo.Commit(id)
		if err != nil {
			return ownerUs, "", err
		}
		if w.hasTrailers(below) {
			return ownerEdited, head, nil
		}
		if merged, err := w.merged(id); err != nil || merged {
			if err != nil {
				return ownerUs, "", err
			}
			continue
		}
		next = append(next, below.Parents...)
	}
	if w.hasTrailers(info) { // ours, and changed since: amended
		return ownerEdited, head, nil
	}
	return ownerForeign, head, nil
}

// merged reports whether a commit is in the output branch.
func (w *work) merged(commit string) (bool, error) {
	if w.target == "" {
		return false, nil
	}
	return w.repo.Contains(w.target, commit)
}

// hasTrailers reports whether a commit says that it is ours.
func (w *work) hasTrailers(c git.Info) bool {
	t := Trailers(c.Message)
	env := t[trailerEnvironment]
	return len(env) == 1 && env[0] == w.p.Environment && len(t[trailerDigest]) == 1
}

// isOurs reports whether a commit is ours, and holds what it says.
func (w *work) isOurs(c git.Info) (bool, error) {
	if !w.hasTrailers(c) {
		return false, nil
	}
	view, err := w.repo.View(c.ID)
	if err != nil {
		return false, err
	}
	digest := digestOf(w.p.Environment, w.p.Folder, view.Tree.Sub(w.p.Folder))
	if err := view.Err(); err != nil {
		return false, err
	}
	return Trailers(c.Message)[trailerDigest][0] == digest, nil
}

// onlyUpdates reports whether a commit merges the output branch into ours and does
// nothing else, as a forge's button "Update branch" does.
func (w *work) onlyUpdates(c git.Info) (bool, error) {
	if len(c.Parents) != 2 {
		return false, nil
	}
	ours, err := w.repo.Commit(c.Parents[0])
	if err != nil {
		return false, err
	}
	mine, err := w.isOurs(ours)
	if err != nil || !mine {
		return false, err
	}
	merged, err := w.merged(c.Parents[1])
	if err != nil || !merged {
		return false, err
	}
	now, err := w.ownedBy(c.ID)
	if err != nil {
		return false, err
	}
	before, err := w.ownedBy(ours.ID)
	return tree.Equal(now, before), err
}

// ownedBy gives the folders that the record of a commit says are ours.
func (w *work) ownedBy(commit string) (tree.Tree, error) {
	view, err := w.repo.View(commit)
	if err != nil {
		return tree.Tree{}, err
	}
	held := view.Tree.Sub(w.p.Folder)
	owned, _, err := ownedFolders(held, w.p.Environment, tree.Tree{})
	if err != nil {
		return tree.Tree{}, err
	}
	var entries []tree.Entry
	for _, e := range held.Entries() {
		if owned[e.Name] {
			entries = append(entries, e)
		}
	}
	return tree.FromEntries(entries), view.Err()
}

package publish

import (
	"slices"

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

// owner says whose the branch with this head is.
func (w *work) owner(head string) (owner, error) {
	info, err := w.repo.Commit(head)
	if err != nil {
		return ownerUs, err
	}
	for _, isOurs := range []func(git.Info) (bool, error){
		func(c git.Info) (bool, error) { return w.isOurs(c), nil },
		func(c git.Info) (bool, error) { return w.merged(c.ID) },
		w.onlyUpdates,
	} {
		if ok, err := isOurs(info); err != nil || ok {
			return ownerUs, err
		}
	}
	if w.hasTrailers(info) { // ours, and changed since: amended
		return ownerEdited, nil
	}
	below, err := w.oursBelow(info)
	if err != nil || below {
		return ownerEdited, err
	}
	return ownerForeign, nil
}

// oursBelow reports whether a commit of ours that is not merged is below another.
func (w *work) oursBelow(c git.Info) (bool, error) {
	return w.among(c.Parents, func(below git.Info, _ int) (found, last bool, err error) {
		merged, err := w.merged(below.ID)
		return !merged && w.hasTrailers(below), merged, err
	})
}

// maxLooked is how many of the last commits of the output branch are looked into for a record.
const maxLooked = 15

// wasOurs reports whether the output branch has had output of this environment from us: one of
// its last commits says so, or has the record, which need not be there any more.
func (w *work) wasOurs() (bool, error) {
	if w.target == "" {
		return false, nil
	}
	return w.among([]string{w.target}, func(c git.Info, before int) (found, last bool, err error) {
		if slices.Contains(Trailers(c.Message)[trailerEnvironment], w.p.Environment) {
			return true, true, nil
		}
		if before >= maxLooked {
			return false, false, nil
		}
		view, err := w.repo.View(c.ID)
		if err != nil {
			return false, false, err
		}
		_, found = view.Tree.Sub(CleanFolder(w.p.Folder)).Lookup(RecordFile)
		return found, false, view.Err()
	})
}

// among looks for a commit among some and those before them, the nearest first. look is given
// how many came before; nothing before one that it calls the last is looked at.
func (w *work) among(next []string, look func(c git.Info, before int) (found, last bool, err error)) (bool, error) {
	seen := map[string]bool{}
	for len(next) > 0 && len(seen) < maxCommits {
		id := next[0]
		if next = next[1:]; seen[id] {
			continue
		}
		c, err := w.repo.Commit(id)
		if err != nil {
			return false, err
		}
		found, last, err := look(c, len(seen))
		if err != nil || found {
			return err == nil, err
		}
		seen[id] = true
		if !last {
			next = append(next, c.Parents...)
		}
	}
	return false, nil
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
func (w *work) isOurs(c git.Info) bool {
	return w.hasTrailers(c) && Trailers(c.Message)[trailerDigest][0] == digestOf(w.p.Environment, c.Tree)
}

// onlyUpdates reports whether a commit merges the output branch into ours and does
// nothing else, as a forge's button "Update branch" does, be it again and again.
func (w *work) onlyUpdates(c git.Info) (bool, error) {
	for range maxCommits {
		if len(c.Parents) != 2 {
			return false, nil
		}
		if ok, err := w.merged(c.Parents[1]); err != nil || !ok {
			return false, err
		}
		if ok, err := w.mixes(c.ID, c.Parents); err != nil || !ok {
			return false, err
		}
		below, err := w.repo.Commit(c.Parents[0])
		if err != nil || w.isOurs(below) {
			return err == nil, err
		}
		c = below
	}
	return false, nil
}

// mixes reports whether all that a merge holds is that of one of two parents.
func (w *work) mixes(merge string, parents []string) (bool, error) {
	var trees []tree.Tree
	var views []*git.View
	for _, id := range []string{merge, parents[0], parents[1]} {
		view, err := w.repo.View(id)
		if err != nil {
			return false, err
		}
		trees, views = append(trees, view.Tree), append(views, view)
	}
	ok := isMix(trees[0], trees[1], trees[2])
	for _, view := range views {
		if err := view.Err(); err != nil {
			return false, err
		}
	}
	return ok, nil
}

func isMix(merge, a, b tree.Tree) bool {
	if tree.Equal(merge, a) || tree.Equal(merge, b) {
		return true
	}
	in, inA, inB := byName(merge), byName(a), byName(b)
	for _, t := range []tree.Tree{merge, a, b} {
		for _, e := range t.Entries() {
			m, x, y := in[e.Name], inA[e.Name], inB[e.Name]
			if m.ID == x.ID && m.Mode == x.Mode || m.ID == y.ID && m.Mode == y.Mode {
				continue
			}
			if !m.IsDir() || !isMix(m.Tree(), x.Tree(), y.Tree()) {
				return false
			}
		}
	}
	return true
}

func byName(t tree.Tree) map[string]tree.Entry {
	entries := t.Entries()
	names := make(map[string]tree.Entry, len(entries))
	for _, e := range entries {
		names[e.Name] = e
	}
	return names
}

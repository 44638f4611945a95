package publish

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
)

// onlyUpdates reports whether a commit merges the branch that ours is proposed to into
// ours and does nothing else, as a forge's button "Update branch" does, be it again and
// again. A merge that brings in another branch, or chooses what Git would not have
// chosen, is a person's work.
func (o ownership) onlyUpdates(c git.CommitInfo) (bool, error) {
	for range maxBranchCommits {
		if len(c.Parents) != 2 {
			return false, nil
		}
		if ok, err := o.isMerged(c.Parents[1]); err != nil || !ok {
			return false, err
		}
		if ok, err := o.isUpdate(c); err != nil || !ok {
			return false, err
		}
		below, err := o.repo.Commit(c.Parents[0])
		if err != nil || o.isIntact(below) {
			return err == nil, err
		}
		c = below
	}
	return false, nil
}

// isUpdate reports whether a merge of two parents holds what each of them has changed,
// and nothing else.
func (o ownership) isUpdate(c git.CommitInfo) (bool, error) {
	base, err := o.repo.MergeBase(c.Parents[0], c.Parents[1])
	if err != nil {
		return false, err
	}
	return git.InspectTrees(o.repo, []string{c.ID, base, c.Parents[0], c.Parents[1]}, func(t []tree.Tree) (bool, error) {
		return isMerge(t[0], t[1], t[2], t[3]), nil
	})
}

// isMerge reports whether a tree is what comes out if two trees are merged that were made
// from one, file by file. Where both have changed a file, only a person can decide.
func isMerge(merge, base, a, b tree.Tree) bool {
	in, before, inA, inB := entriesByName(merge), entriesByName(base), entriesByName(a), entriesByName(b)
	for _, names := range []map[string]tree.Entry{in, before, inA, inB} {
		for name := range names {
			m, o, x, y := in[name], before[name], inA[name], inB[name]
			want := x
			switch {
			case isSame(x, y), isSame(y, o):
			case isSame(x, o):
				want = y
			case m.IsDir() && x.IsDir() && y.IsDir():
				if !isMerge(m.Tree(), o.Tree(), x.Tree(), y.Tree()) {
					return false
				}
				continue
			default:
				return false
			}
			if !isSame(m, want) {
				return false
			}
		}
	}
	return true
}

func isSame(a, b tree.Entry) bool { return a.ID == b.ID && a.Mode == b.Mode }

func entriesByName(t tree.Tree) map[string]tree.Entry {
	entries := t.Entries()
	names := make(map[string]tree.Entry, len(entries))
	for _, e := range entries {
		names[e.Name] = e
	}
	return names
}

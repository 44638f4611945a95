package publish

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
)

// onlyUpdates reports whether a commit only merges the base branch into ours, even repeatedly, as a
// forge's button "Update branch" does. Merges of other branches, or with other content, are a
// person's work.
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

// isUpdate reports whether a merge holds exactly what both parents changed. If both changed a file,
// only a person can decide.
func (o ownership) isUpdate(c git.CommitInfo) (bool, error) {
	base, err := o.repo.MergeBase(c.Parents[0], c.Parents[1])
	if err != nil {
		return false, err
	}
	return git.InspectTrees(o.repo, []string{c.ID, base, c.Parents[0], c.Parents[1]}, func(t []tree.Tree) (bool, error) {
		merged, conflicts := tree.Merge(t[1], t[2], t[3])
		return conflicts == nil && tree.Equal(merged, t[0]), nil
	})
}

// Package wanted reads from the output branches of environments what their clusters should run.
//
// What the package keeps true: what is read of a branch that grew is what is read of the whole branch;
// a branch that was rewritten goes on with the commits that are new, and those of before stay known; a
// commit is read once.
package wanted

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

// maxOutputs is how many commits of a branch are read at once, the newest: a mirror that does not have
// their folders asks for those of each.
const maxOutputs = 200

// ReadOutputs adds the commits of an output branch that are not known yet, from the oldest to its head.
// folder is that of the environment on the branch; its folders are those of the cluster types. If
// something cannot be read, nothing is added.
func ReadOutputs(repo *git.Repository, head, folder string, known *ledger.Outputs) error {
	commits, err := repo.FirstParents(head, maxOutputs, func(commit string) bool {
		_, ok := known.Find(commit)
		return ok
	})
	if err != nil {
		return err
	}
	var added []ledger.Output
	for _, commit := range commits {
		if _, ok := known.Find(commit); ok {
			break
		}
		o, err := readOutput(repo, commit, folder)
		if err != nil {
			return err
		}
		added = append(added, o)
	}
	for _, o := range slices.Backward(added) {
		known.Add(o)
	}
	return nil
}

func readOutput(repo *git.Repository, commit, folder string) (ledger.Output, error) {
	info, err := repo.Commit(commit)
	if err != nil {
		return ledger.Output{}, err
	}
	folders, err := git.InspectTree(repo, commit, func(t tree.Tree) (map[string]string, error) {
		ids := map[string]string{}
		for _, e := range t.Sub(folder).Entries() {
			if e.IsDir() {
				ids[e.Name] = e.ID.String()
			}
		}
		return ids, nil
	})
	return ledger.Output{Revision: commit, Merged: info.When, Folders: folders}, err
}

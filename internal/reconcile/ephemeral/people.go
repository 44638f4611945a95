package ephemeral

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// findPerson looks for a commit on an output's branch that holds what we have not
// written, and says which and whose it is; "" if there is none. One that holds our output
// and nothing else is ours, no matter who merged it.
func findPerson(repo *git.Repository, head, folder, environment string) (string, error) {
	next, seen := []string{head}, map[string]bool{}
	clean := map[string]bool{} // by tree
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if seen[id] {
			continue
		}
		seen[id] = true
		if len(seen) > maxOutput {
			return fmt.Sprintf("it has more than %d commits, and not all of them were looked at", maxOutput), nil
		}
		c, err := repo.Commit(id)
		if err != nil {
			return "", err
		}
		next = append(next, c.Parents...)
		if clean[c.Tree] || c.Tree == tree.EmptyID.String() || publish.IsOurs(c, environment) {
			clean[c.Tree] = true
			continue
		}
		ours, err := git.InspectTree(repo, id, func(t tree.Tree) (bool, error) { return isOursOnly(t, folder, environment), nil })
		if err != nil {
			return "", err
		}
		clean[c.Tree] = ours
		if !ours {
			return fmt.Sprintf("commit %.12s on it is of %s", id, cmp.Or(c.Author.Email, c.Author.Name, "a person")), nil
		}
	}
	return "", nil
}

// isOursOnly reports whether a commit's files are our output as it was rendered, and nothing beside
// it.
func isOursOnly(whole tree.Tree, folder, environment string) bool {
	now := whole.Sub(folder)
	own, err := readOwnRecord(now, environment)
	if err != nil || own == nil || !own.IsIn(now) {
		return false
	}
	for file := range whole.Walk() {
		if !isPartOf(*own, folder, file) {
			return false
		}
	}
	return true
}

func isPartOf(w publish.Written, folder, file string) bool {
	if folder != "" {
		rest, ok := strings.CutPrefix(file, folder+"/")
		if !ok {
			return false
		}
		file = rest
	}
	if file == publish.RecordFile || file == output.TrackingFile {
		return true
	}
	return slices.ContainsFunc(w.Folders, func(name string) bool {
		return strings.HasPrefix(file, name+"/")
	})
}

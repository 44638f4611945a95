package promoter

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// DescribeLost returns that the base's branch was rewritten and has the commit of an environment no
// longer; "" if it has it, or if that cannot be told from the repository here: a clone may lack
// commits, and its branch may be older than its origin's.
func DescribeLost(base source.Base, b source.Branch, environment string) string {
	if base.Repo == nil || b.Repo == nil || !source.IsCommit(b.Commit) {
		return ""
	}
	commit, err := base.Repo.Resolve(b.Commit)
	if err != nil { // that is a problem of its own
		return ""
	}
	tracked, err := base.Repo.Refs("refs/remotes/")
	if err != nil {
		return ""
	}
	tracked[""] = base.Head
	for _, head := range tracked {
		has, err := base.Repo.Contains(head, commit)
		if err != nil || has {
			return ""
		}
	}
	return describeRewritten(base.Branch, commit, environment)
}

// describeMissing returns that the repository of the base has no commit of the name that a record
// has. One that was promoted was there.
func describeMissing(base source.Base, b source.Branch, environment string) (string, error) {
	brought, err := b.Repo.LastChangedBy(b.Head, b.Record, maxRecords)
	if err != nil {
		return "", err
	}
	if strings.Contains(brought.Message, "Fairlead-Promoted: "+b.Commit) {
		return describeRewritten(base.Branch, b.Commit, environment), nil
	}
	return fmt.Sprintf("%s names commit %s, which the base does not have: %s", b.Record, b.Commit, describeReturn(base.Branch, environment)), nil
}

func describeRewritten(branch, commit, environment string) string {
	return fmt.Sprintf("%s was rewritten and has no commit %s any more: %s", branch, promote.ShortID(commit), describeReturn(branch, environment))
}

// describeReturn returns how an environment gets a commit again that the base's branch has.
func describeReturn(branch, environment string) string {
	return fmt.Sprintf("push it back to %s, or fairlead rollback %s --to COMMIT --reason REASON", branch, environment)
}

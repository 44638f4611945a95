package promoter

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Loss is a commit of an environment that the base's branch does not have. The zero Loss is none.
type Loss struct{ Reason, Advice string }

// String returns the reason and the advice, as one sentence; "" for the zero Loss.
func (l Loss) String() string {
	if l == (Loss{}) {
		return ""
	}
	return l.Reason + ": " + l.Advice
}

// FindLoss returns that the base's branch was rewritten and has the commit of an environment no longer;
// the zero Loss if it has it, or if that cannot be told from the repository here: a clone may lack
// commits, and its branch may be older than its origin's.
func FindLoss(base source.Base, b source.Branch, environment string) Loss {
	if base.Repo == nil || b.Repo == nil || !source.IsCommit(b.Commit) {
		return Loss{}
	}
	commit, err := base.Repo.Resolve(b.Commit)
	if err != nil { // that is a problem of its own
		return Loss{}
	}
	tracked, err := base.Repo.Refs("refs/remotes/")
	if err != nil {
		return Loss{}
	}
	tracked[""] = base.Head
	for _, head := range tracked {
		has, err := base.Repo.Contains(head, commit)
		if err != nil || has {
			return Loss{}
		}
	}
	return newRewriteLoss(base.Branch, commit, environment)
}

// findMissing returns that the repository of the base has no commit of the name that a record has. One
// that was promoted was there.
func findMissing(base source.Base, b source.Branch, environment string) (Loss, error) {
	brought, err := b.Repo.LastChangedBy(b.Head, b.Record, maxRecords)
	if err != nil {
		return Loss{}, err
	}
	if slices.Contains(publish.Trailers(brought.Message)["Fairlead-Promoted"], b.Commit) {
		return newRewriteLoss(base.Branch, b.Commit, environment), nil
	}
	return newLoss(base.Branch, environment, "%s names commit %s, which the base does not have", b.Record, b.Commit), nil
}

func newRewriteLoss(branch, commit, environment string) Loss {
	return newLoss(branch, environment, "%s was rewritten and has no commit %s any more", branch, text.ShortCommit(commit))
}

func newLoss(branch, environment, format string, args ...any) Loss {
	return Loss{fmt.Sprintf(format, args...), fmt.Sprintf("push it back to %s, or fairlead rollback %s --to COMMIT --reason REASON", branch, environment)}
}

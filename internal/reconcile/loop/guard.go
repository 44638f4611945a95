package loop

import (
	"context"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// acknowledgedChanges returns what finds the changes of an environment's output that people have
// acknowledged: by an Approval on the environment's branch, or by an annotation of its
// GitOpsRepo.
func (l *Loop) acknowledgedChanges(ctx context.Context, r source.Rendered) func() ([]string, error) {
	return func() ([]string, error) {
		var changes []string
		if to := gitOpsRepo(r.Model); to != nil {
			changes = changesIn(to.Annotations[model.AcknowledgeAnnotation])
		}
		branch, err := l.source.Branch(ctx, r.Environment)
		if err != nil {
			return nil, err
		}
		for _, a := range branch.Progress.Approvals {
			if a.Removals != "" {
				changes = append(changes, a.Removals)
			}
		}
		return changes, nil
	}
}

// changesIn returns the names of changes in an annotation.
func changesIn(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
}

// withheldOf returns why a proposal waits for a person, as reports have it.
func withheldOf(all []publish.Withholding) []status.Withheld {
	var withheld []status.Withheld
	for _, w := range all {
		withheld = append(withheld, status.Withheld{Cause: string(w.Cause), Reason: w.Reason, Acknowledge: w.ChangeID})
	}
	return withheld
}

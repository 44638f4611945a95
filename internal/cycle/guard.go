package cycle

import (
	"context"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/status"
)

// acknowledged returns what reports whether a person has acknowledged a change of an
// environment's output: by an Approval on the environment's branch, or by an annotation
// of its GitOpsRepo. Both name the change.
func (l *Loop) acknowledged(ctx context.Context, r source.Rendered) func(change string) (bool, error) {
	return func(change string) (bool, error) {
		if to := gitOpsRepo(r.Model); to != nil && slices.Contains(changesIn(to.Annotations[model.AcknowledgeAnnotation]), change) {
			return true, nil
		}
		branch, err := l.source.Branch(ctx, r.Environment)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(branch.Progress.Approvals, func(a *model.Approval) bool { return a.Removals == change }), nil
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
		withheld = append(withheld, status.Withheld{Cause: string(w.Cause), Reason: w.Reason, Acknowledge: w.Acknowledge})
	}
	return withheld
}

package source

import (
	"context"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// AcknowledgedChanges returns what finds the changes of an environment's output that people have
// acknowledged: by an Approval on the environment's branch, or by an annotation of its
// GitOpsRepo.
func (s *Source) AcknowledgedChanges(ctx context.Context, r Rendered) func() ([]string, error) {
	return func() ([]string, error) {
		var changes []string
		if to := r.Model.OutputRepo(); to != nil {
			changes = changesIn(to.Annotations[model.AcknowledgeAnnotation])
		}
		branch, err := s.Branch(ctx, r.Environment)
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

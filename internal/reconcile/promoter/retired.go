package promoter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// ProposedRecords returns the names of the environments for which a branch of ours in the control
// plane proposes a record, sorted.
func (m *Promoter) ProposedRecords() ([]string, error) {
	remote := m.options.Remotes.ControlPlane()
	if remote == nil || remote.Mirror() == nil || m.options.Settings.Promotion != managedPromotion {
		return nil, nil
	}
	prefix := "refs/heads/" + m.options.Settings.Output.BranchPrefix + recordBranches
	refs, err := remote.Mirror().Refs(prefix)
	if err != nil {
		return nil, err
	}
	var names []string
	for ref := range refs {
		names = append(names, strings.TrimPrefix(ref, prefix))
	}
	slices.Sort(names)
	return names, nil
}

// WithdrawRecord withdraws the record that is proposed for an environment which has left the
// control plane.
func (m *Promoter) WithdrawRecord(ctx context.Context, e *model.Environment) error {
	s := &stageState{spec: model.Stage{Name: e.Name}, branch: source.Branch{URL: e.ControlPlane.Repo, Name: e.ControlPlane.Branch}}
	if err := m.withdrawRecord(ctx, s, fmt.Sprintf("The environment %s is no longer in the control plane.", e.Name)); err != nil {
		return fmt.Errorf("withdraw the record that is proposed for %s: %w", e.Name, err)
	}
	return nil
}

package cli

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// noteAhead notes base commits that no environment has, unless a flag names a revision.
// Without flags a command reads what environments have, and would ignore a recent
// commit.
func (in *input) noteAhead(ctx context.Context, remedy func(base string) string) {
	of := in.options
	if of.Base != "" || of.EnvironmentRevision != "" || of.BaseDir != "" || of.EnvironmentDir != "" {
		return
	}
	base, newer, err := in.countAhead(ctx)
	if err != nil || newer == 0 { // unknown in a shallow clone
		return
	}
	fmt.Fprintf(in.stderr(), "fairlead: note: %s has %s that no environment has: %s\n", base.Branch, text.Count(newer, "commit"), remedy(base.Branch))
}

// countAhead returns the base and the number of its commits that no environment has and
// that would be promoted; 0 if an environment follows the base without promotion.
func (in *input) countAhead(ctx context.Context) (source.Base, int, error) {
	base, err := in.source.Base(ctx)
	if err != nil {
		return base, 0, err
	}
	chain, _ := model.NewChain(base.Progress, base.Environments, nil) // check reports its problems
	var has []string
	for _, e := range base.Environments {
		branch, err := in.source.Branch(ctx, e.Name)
		if err != nil {
			return base, 0, err
		}
		if branch.Commit == "" {
			stage := chain.Stage(e.Name)
			if branch.Repo == nil || stage != nil && len(stage.After) > 0 { // empty until its first promotion
				continue
			}
			return base, 0, nil
		}
		commit, err := base.Repo.Resolve(branch.Commit)
		if err != nil {
			return base, 0, err
		}
		has = append(has, commit)
	}
	if len(has) == 0 {
		return base, 0, nil
	}
	newer, err := promoter.CountNewer(base, has...)
	return base, newer, err
}

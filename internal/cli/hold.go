package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

func newHold(a *app) *cobra.Command {
	cc := newCommandContext(a)
	scope := ""
	c := cc.newEnvironmentAction(&cobra.Command{
		Use:   "hold ENVIRONMENT",
		Short: "Keep the output of an environment as it is",
		Long: `Hold writes an object of kind Hold to the branch of an environment. Until fairlead release
takes it away, nothing is promoted to the environment, and Fairlead merges no change of its
output, whether it comes from the base, its own branch or a workload. The pull request of
the output is kept up to date, so that people see what waits, and they may merge it.
With --scope promotion only promotions wait.`,
		Example: `  fairlead hold stage --reason "the load test of Tuesday"`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		if err := cc.requireReason("a hold"); err != nil {
			return actions.Result{}, err
		}
		if err := checkScope(scope); err != nil {
			return actions.Result{}, err
		}
		return d.Hold(ctx, environment, cc.reason, scope)
	})
	addScopeFlag(c, &scope)
	return c
}

// addScopeFlag adds the flag for what waits to a command.
func addScopeFlag(c *cobra.Command, scope *string) {
	c.Flags().StringVar(scope, "scope", "", "what waits: output, every change of it, or `promotion`s only (default: output)")
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{model.ScopeOutput, model.ScopePromotion}, cobra.ShellCompDirectiveNoFileComp))
}

// checkScope returns an error for an unknown scope.
func checkScope(scope string) error {
	if scope == "" || scope == model.ScopeOutput || scope == model.ScopePromotion {
		return nil
	}
	return usageErrorf("write output or promotion", "there is no scope %s", scope)
}

func newRelease(a *app) *cobra.Command {
	cc := newCommandContext(a)
	return cc.newEnvironmentAction(&cobra.Command{
		Use:   "release ENVIRONMENT",
		Short: "Take away the hold of an environment",
		Long: `Release removes what fairlead hold, or fairlead rollback, has written. Where a person took
the record back by hand, as git revert of a promotion does, it writes an object of kind
Release, which says that this is over.`,
		Example: `  fairlead release stage`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		return d.Release(ctx, environment, cc.reason)
	})
}

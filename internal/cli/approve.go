package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

func newApprove(a *app) *cobra.Command {
	cc := newCommandContext(a)
	removals, ahead := false, false
	c := &cobra.Command{
		Use:     "approve ENVIRONMENT [COMMIT]",
		GroupID: groupPromotion,
		Short:   "Approve a commit, or removals, for an environment",
		Long: `Approve writes an object of kind Approval to the branch of an environment, in a commit of
yours: whose yes it is, is who the commit's author is. Without COMMIT it is for the commit
that the environment waits for. Git believes what an author says of himself; where that is
not enough, let people approve pull requests.

With --removals it approves a change of the environment's output that exceeds its limits,
so that it is merged as any other: the one that is named as the pull request of the output
names it, or else the one that waits now. Any other change still waits. One that does not
wait now is refused, unless --ahead says that it is that of a preview, which waits once
its pull request is merged.`,
		Example: `  fairlead approve prod
  fairlead approve prod --removals --reason "the shop has moved"
  fairlead approve prod 4be1c2d --reason "looked at the dashboards of stage"`,
		Args:              checkArguments(1, 2),
		ValidArgsFunction: cc.completeEnvironments(1),
		RunE: func(c *cobra.Command, args []string) error {
			if ahead && !removals {
				return usageErrorf("add --removals", "--ahead is for removals")
			}
			if removals {
				if err := checkChange(args[1:], ahead); err != nil {
					return err
				}
			}
			d, err := cc.openForEnvironments(c.Context(), args[0])
			if err != nil {
				return err
			}
			if removals {
				return cc.printResult(cc.acknowledgeRemovals(c.Context(), d, args[0], args[1:], ahead))
			}
			if len(args) == 2 {
				return cc.printResult(d.Approve(c.Context(), args[0], args[1], cc.reason, nil))
			}
			chain, err := cc.readChain(c.Context())
			if err != nil {
				return err
			}
			return cc.printResult(d.Approve(c.Context(), args[0], "", cc.reason, chain))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().BoolVar(&removals, "removals", false, "approve a change of the output that exceeds the environment's limits")
	c.Flags().BoolVar(&ahead, "ahead", false, "with --removals: approve a change that a preview names, before it waits")
	cc.addURLFlag(c)
	cc.addActionFlags(c, "")
	return c
}

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
	}, func(ctx context.Context, d *actions.Desk, environment string) (actions.Result, error) {
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
	return usageErrorf("it is output or promotion", "there is no scope %s", scope)
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
	}, func(ctx context.Context, d *actions.Desk, environment string) (actions.Result, error) {
		return d.Release(ctx, environment, cc.reason)
	})
}

// newEnvironmentAction completes a command that runs one action on one environment.
func (cc *commandContext) newEnvironmentAction(c *cobra.Command, pull func(context.Context, *actions.Desk, string) (actions.Result, error)) *cobra.Command {
	c.GroupID, c.Args, c.ValidArgsFunction = groupPromotion, checkArguments(1, 1), cc.completeEnvironments(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		d, err := cc.openForEnvironments(c.Context(), args[0])
		if err != nil {
			return err
		}
		return cc.printResult(pull(c.Context(), d, args[0]))
	}
	cc.addActionFlags(c, "")
	return c
}

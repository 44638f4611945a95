package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

func newHold(a *app) *cobra.Command {
	cc := newCommandContext(a)
	scope, lane := "", ""
	c := cc.newEnvironmentAction(&cobra.Command{
		Use:   "hold ENVIRONMENT",
		Short: "Keep the output of an environment as it is",
		Long: `Hold writes an object of kind Hold to the branch of an environment. Until fairlead release
takes it away, nothing is promoted to the environment, and Fairlead merges no change of its
output, whether it comes from the base, its own branch or a workload. The pull request of
the output is kept up to date, so that people see what waits, and they may merge it.
With --scope promotion only promotions wait. With --scope waves the waves of the environment
are paused: an advance that has begun proposes no other wave, and a change begins with none. With
--lane only that lane keeps its commit: the others are promoted, without what changes it. A hold
replaces one that was there, and says which; it is refused if it would stop less.`,
		Example: `  fairlead hold stage --reason "the load test of Tuesday"
  fairlead hold prod --lane shop --reason "the sale is on"`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		if err := cc.requireReason("a hold"); err != nil {
			return actions.Result{}, err
		}
		if err := checkScope(scope, model.ScopeWaves); err != nil {
			return actions.Result{}, err
		}
		if lane != "" && (scope == model.ScopeOutput || scope == model.ScopeWaves) {
			return actions.Result{}, usageErrorf("leave out one of the two", "the hold of a lane keeps its commit, and not the output")
		}
		if lane != "" {
			return actions.HoldLane(ctx, d, environment, lane, cc.reason)
		}
		return d.Hold(ctx, environment, cc.reason, scope)
	})
	addScopeFlag(c, &scope, model.ScopeWaves)
	addLaneFlag(c, &lane)
	return c
}

func addLaneFlag(c *cobra.Command, lane *string) {
	c.Flags().Var(&singleValue{flag: "--lane", value: lane}, "lane", "only this `LANE` of the environment, as spec.lanes of the Promotion defines it")
	_ = c.RegisterFlagCompletionFunc("lane", cobra.NoFileCompletions)
}

func addScopeFlag(c *cobra.Command, scope *string, more ...string) {
	usage := "what waits: output, every change of it, or `promotion`s only (default: output)"
	if len(more) > 0 {
		usage = "what waits: output, every change of it, `promotion`s only, or waves, the next one (default: output)"
	}
	c.Flags().StringVar(scope, "scope", "", usage)
	_ = c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions(append([]string{model.ScopeOutput, model.ScopePromotion}, more...), cobra.ShellCompDirectiveNoFileComp))
}

func checkScope(scope string, more ...string) error {
	known := append([]string{"", model.ScopeOutput, model.ScopePromotion}, more...)
	if slices.Contains(known, scope) {
		return nil
	}
	return usageErrorf("write "+text.Join(known[1:], " or "), "there is no scope %s", scope)
}

func newRelease(a *app) *cobra.Command {
	cc := newCommandContext(a)
	lane := ""
	c := cc.newEnvironmentAction(&cobra.Command{
		Use:   "release ENVIRONMENT",
		Short: "Take away the hold of an environment",
		Long: `Release removes what fairlead hold, or fairlead rollback, has written. Where a person took
the record back by hand, as git revert of a promotion does, it writes an object of kind
HoldRelease, which says that this is over. With --lane it removes the hold of that lane.`,
		Example: `  fairlead release stage
  fairlead release prod --lane shop`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		if lane != "" {
			return actions.ReleaseLane(ctx, d, environment, lane, cc.reason)
		}
		return d.Release(ctx, environment, cc.reason)
	})
	addLaneFlag(c, &lane)
	return c
}

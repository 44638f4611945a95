package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

func newWaves(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "waves",
		GroupID: groupPromotion,
		Short:   "Skip the proof of a wave, go back, or begin again",
		Long: `Waves decides about the running advance of an environment: the change whose first waves are
merged and whose last one is not. fairlead status shows its waves, and fairlead hold ENVIRONMENT
--scope waves pauses them. Each decision is an object of kind WaveDecision on the environment's
branch, in .fairlead/waves.`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, part := range []*cobra.Command{newWavesSkip(a), newWavesBack(a), newWavesReplace(a), newWavesRetry(a)} {
		part.GroupID = ""
		c.AddCommand(part)
	}
	return c
}

func newWavesSkip(a *app) *cobra.Command {
	cc := newCommandContext(a)
	name := ""
	c := cc.newEnvironmentAction(&cobra.Command{
		Use:   "skip ENVIRONMENT WAVE",
		Short: "Count the proof of a wave as passed",
		Long: `Skip has the next wave wait no longer for the proof of a wave, whether it is missing or has
failed. It is about the running advance only.`,
		Example: `  fairlead waves skip prod canary --reason "its one cluster is being rebuilt"`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		return decideWaves(ctx, cc, d, actions.WaveOrder{Environment: environment, Action: model.SkipWave, Wave: name})
	})
	run := c.RunE
	c.Args = checkArguments(2, 2)
	c.RunE = func(c *cobra.Command, args []string) error {
		name = args[1]
		return run(c, args)
	}
	return c
}

func newWavesBack(a *app) *cobra.Command {
	cc := newCommandContext(a)
	return cc.newEnvironmentAction(&cobra.Command{
		Use:   "back ENVIRONMENT",
		Short: "Go back to what was there before the first wave",
		Long: `Back proposes the output of before the first wave, for all of its cluster types at once. The
environment keeps its inputs, and what they render is proposed no more: until something else is
wanted, or fairlead waves retry. With advance.onFailure: back Fairlead decides so when a proof
fails. fairlead rollback goes back to an older commit of the base instead.`,
		Example: `  fairlead waves back prod --reason "the canary does not answer"`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		return decideWaves(ctx, cc, d, actions.WaveOrder{Environment: environment, Action: model.RejectAdvance})
	})
}

func newWavesReplace(a *app) *cobra.Command {
	cc := newCommandContext(a)
	return cc.newEnvironmentAction(&cobra.Command{
		Use:   "replace ENVIRONMENT",
		Short: "Begin again with the newest inputs",
		Long: `Replace ends the running advance where it is: what has changed since on the environment's branch
and in workloads, and would wait for the last wave, begins with the first one. Commits of the base
are not among that: they wait for the end of the advance, or for fairlead promote.`,
		Example: `  fairlead waves replace prod --reason "the fix of the login is on the branch"`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		return decideWaves(ctx, cc, d, actions.WaveOrder{Environment: environment, Action: model.ReplaceAdvance})
	})
}

func newWavesRetry(a *app) *cobra.Command {
	cc := newCommandContext(a)
	return cc.newEnvironmentAction(&cobra.Command{
		Use:   "retry ENVIRONMENT",
		Short: "Take back what was decided about the waves",
		Long: `Retry removes the decisions about the waves of an environment: what was rejected is proposed
again, from the first wave on, and proofs that were skipped count again. Gates that run a workflow
run it again for the running advance.`,
		Example: `  fairlead waves retry prod --reason "the network is mended"`,
	}, func(ctx context.Context, d *actions.Session, environment string) (actions.Result, error) {
		return actions.RetryWaves(ctx, d, environment, cc.reason)
	})
}

func decideWaves(ctx context.Context, cc *commandContext, d *actions.Session, o actions.WaveOrder) (actions.Result, error) {
	if err := cc.requireReason("a decision about waves"); err != nil {
		return actions.Result{}, err
	}
	o.Reason = cc.reason
	return actions.DecideWaves(ctx, d, o)
}

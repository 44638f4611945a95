package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

func newApprove(a *app) *cobra.Command {
	cc := newCommandContext(a)
	removals, ahead, lane, wave := false, false, "", ""
	c := &cobra.Command{
		Use:     "approve ENVIRONMENT [COMMIT]",
		GroupID: groupPromotion,
		Short:   "Approve a commit, a wave, or removals, for an environment",
		Long: `Approve writes an object of kind Approval to the branch of an environment, in a commit of
yours: whose yes it is, is who the commit's author is. Without COMMIT it is for the commit
that the environment waits for. Git believes what an author says of himself. A gate with
trusted: true counts reviews of pull requests, and commits that are signed: --sign-key
signs the commit with your key, which the settings of the daemon name. With --lane the
approval is for that lane only: the commit as a whole still waits. With --wave it is of that
wave of the advance that is under way or about to begin, or of the advance that is named in
the place of COMMIT.

With --removals it approves a change of the environment's output that exceeds its limits,
so that it is merged as any other: the one that is named as the pull request of the output
names it, or else the one that waits now. Any other change still waits. One that does not
wait now is refused, unless --ahead says that it is that of a preview, which waits once
its pull request is merged.`,
		Example: `  fairlead approve prod
  fairlead approve prod --wave canary
  fairlead approve prod --removals --reason "the shop has moved"
  fairlead approve prod 4be1c2d --reason "looked at the dashboards of stage"`,
		Args:              checkArguments(1, 2),
		ValidArgsFunction: completeArguments(cc.completeNames, cc.completeCommits),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, environment, named := c.Context(), args[0], strings.Join(args[1:], "")
			if ahead && !removals {
				return usageErrorf("add --removals", "--ahead is for removals")
			}
			if removals && lane+wave != "" {
				return usageErrorf("leave out --lane and --wave", "removals are approved for the whole environment")
			}
			if lane != "" && wave != "" {
				return usageErrorf("approve them one after the other", "an approval is of a lane or of a wave")
			}
			if removals {
				if err := checkChange(args[1:], ahead); err != nil {
					return err
				}
			}
			d, err := cc.openForEnvironments(ctx, environment)
			if err != nil {
				return err
			}
			if removals {
				return cc.finishAction(ctx)(cc.acknowledgeRemovals(ctx, d, environment, named, ahead))
			}
			var chain *status.Chain
			if len(args) == 1 {
				chain, err = cc.readChain(ctx)
				if err != nil {
					return err
				}
			}
			return cc.finishAction(ctx)(d.Approve(ctx, actions.Approval{Environment: environment, Lane: lane, Wave: wave, Commit: named, Reason: cc.reason, Report: chain}))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().BoolVar(&removals, "removals", false, "approve a change of the output that exceeds the environment's limits")
	addLaneFlag(c, &lane)
	c.Flags().StringVar(&wave, "wave", "", "approve this `WAVE` of the running advance, as its gate approval asks")
	c.Flags().BoolVar(&ahead, "ahead", false, "with --removals: approve a change that a preview names, before it waits")
	cc.addURLFlag(c)
	c.Flags().StringVar(&cc.signKey, "sign-key", "", "sign the commit with the private key in a `FILE`, of SSH or OpenPGP; "+signPassphraseVariable+" has its passphrase")
	cc.addActionFlags(c, "")
	return c
}

func (cc *commandContext) acknowledgeRemovals(ctx context.Context, d *actions.Session, environment, named string, ahead bool) (actions.Result, error) {
	if ahead {
		return d.Acknowledge(ctx, environment, named, cc.reason)
	}
	waiting, err := cc.findWaiting(ctx, environment, named)
	if err != nil {
		return actions.Result{}, err
	}
	result, err := d.Acknowledge(ctx, environment, cmp.Or(named, waiting.Acknowledge), cc.reason)
	if named == "" && result.Changed {
		result.Summary += "; " + waiting.Reason
	}
	return result, err
}

func checkChange(named []string, ahead bool) error {
	const hint = "copy the command from the pull request"
	if len(named) == 0 && ahead {
		return usageErrorf(hint, "--ahead needs the name of a change")
	}
	if len(named) > 0 && !actions.IsChangeName(named[0]) { // "" is malformed too: a variable may be unset
		return usageErrorf(hint, "%q is not the name of a change, which has 40 hexadecimal digits", named[0])
	}
	return nil
}

// findWaiting returns why the output of an environment waits for an acknowledgement. It is an
// error if nothing waits, or if another change than the one that is named does; where that is
// not known, every change that is named is accepted.
func (cc *commandContext) findWaiting(ctx context.Context, environment, named string) (status.Withheld, error) {
	const hint = "the pull request of the output shows the command; --config FILE or --url URL let Fairlead look it up"
	chain, err := cc.readChain(ctx)
	if err != nil {
		return status.Withheld{}, err
	}
	var stage status.Stage
	found := false
	if chain != nil {
		stage, found = chain.FindStage(environment)
	}
	switch {
	case !found && named != "":
		return status.Withheld{}, nil
	case chain == nil:
		return status.Withheld{}, usageErrorf(hint, "it is not known which removals wait in %s", environment)
	case !found:
		return status.Withheld{}, usageErrorf(hint, "%s is not promoted, so that it is not known which removals wait in it", environment)
	}
	w, err := actions.FindRemovals(stage.Withheld, environment, named)
	if err != nil && named != "" {
		err = problem.WithHint(err, "the daemon may read sources that this machine cannot: --url URL asks it, and --ahead approves without asking")
	}
	return w, err
}

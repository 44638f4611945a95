package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

type fleetGoal struct {
	environment string
	percent     uint
	of          string
}

// The clusters that a percentage is of.
const (
	ofExpected = "expected"
	ofKnown    = "known"
)

func (g *fleetGoal) addFleetFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&g.environment, "fleet", "", "wait for the clusters of this `environment`, and not for a commit")
	f.UintVar(&g.percent, "percent", 95, "how many `percent` of the clusters must be ready, with --fleet")
	f.StringVar(&g.of, "of", ofExpected, "of which `clusters`, with --fleet: expected, or known (those that have reported)")
	_ = c.RegisterFlagCompletionFunc("of", cobra.FixedCompletions([]string{ofExpected, ofKnown}, cobra.ShellCompDirectiveNoFileComp))
}

func (g *fleetGoal) check() error {
	switch {
	case g.percent < 1 || g.percent > 100:
		return usageErrorf("as in --percent 95", "--percent %d is not from 1 to 100", g.percent)
	case g.of != ofExpected && g.of != ofKnown:
		return usageErrorf(problem.DidYouMean(g.of, []string{ofExpected, ofKnown}), "--of %s: it is expected or known", g.of)
	}
	return nil
}

func (g *fleetGoal) checkArguments(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageErrorf(fmt.Sprintf("fairlead wait --fleet %s waits for the clusters of %[1]s; fairlead wait %[1]s COMMIT waits for a commit", g.environment),
		"--fleet %s waits for no commit, and there is %q", g.environment, args[0])
}

// judge returns the state and progress of a rollout. Gates use the same rule.
func (g *fleetGoal) judge(s fleetview.Standing) (state, reason string) {
	total, other := s.Expected, s.Other()
	if g.of == ofKnown {
		total, other = total-s.Unheard, other-s.Unheard
	}
	if total == 0 {
		return isWaiting, "no cluster has reported yet"
	}
	reason = fmt.Sprintf("%d of %s ready (wants %d%%): %d behind, %d progressing, %d failed, %d silent, %d other",
		s.Ready, text.Count(total, "cluster"), g.percent, s.Behind, s.Progressing, s.Failed, s.Silent, other)
	switch rollout.JudgeShare(total, s.Ready, s.Failed, int(g.percent)) {
	case rollout.Ready:
		return hasDeployed, reason
	case rollout.Failed:
		return hasFailed, reason
	}
	return isWaiting, reason
}

// readStanding never falls back to the store: a pipeline must not continue because of a
// dead daemon's reports.
func (w *waitCommand) readStanding(ctx context.Context) (fleetview.Standing, error) {
	of, err := w.context.requireFleetDaemon(ctx)
	if err != nil {
		return fleetview.Standing{}, err
	}
	defer of.Close()
	all, err := askAll[fleetview.Standing](ctx, of, "standing", newValues("environment", w.goal.environment))
	if err != nil || len(all) != 1 {
		return fleetview.Standing{}, err
	}
	return all[0], nil
}

func (w *waitCommand) runFleet(ctx context.Context) error {
	err := w.goal.check()
	if err != nil {
		return err
	}
	first, err := w.readStanding(ctx)
	if err != nil {
		return err
	}
	result, err := w.waitUntilArrived(ctx, arrival{Environment: w.goal.environment, Commit: first.Output}, func(ctx context.Context) (string, string, error) {
		s, err := w.readStanding(ctx)
		if err != nil {
			return "", "", err
		}
		state, reason := w.goal.judge(s)
		return state, reason, nil
	})
	if err != nil {
		return err
	}
	return w.reportFleet(result)
}

func (w *waitCommand) reportFleet(result arrival) error {
	err := writeJobOutput([2]string{"state", result.State}, [2]string{"reason", result.Reason}, [2]string{"commit", result.Commit})
	if err != nil {
		return err
	}
	err = w.context.app.printValue(result, []string{result.Environment}, func() string {
		if result.State == hasDeployed {
			return fmt.Sprintf("%s: %s\n", result.Environment, result.Reason)
		}
		return ""
	})
	if err != nil || result.State == hasDeployed {
		return err
	}
	return problem.WithHint(fmt.Errorf("the clusters of %s are not ready: %s", result.Environment, result.Reason),
		"fairlead fleet behind "+result.Environment+" names them")
}

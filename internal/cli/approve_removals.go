package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// acknowledgeRemovals approves a change that exceeds an environment's limits: the one that is
// named, or else the one that waits now. With ahead it need not wait yet.
func (cc *commandContext) acknowledgeRemovals(ctx context.Context, d *actions.Desk, environment string, named []string, ahead bool) (actions.Result, error) {
	if len(named) > 0 {
		if !ahead {
			if err := cc.checkWaiting(ctx, environment, named[0]); err != nil {
				return actions.Result{}, err
			}
		}
		return d.Acknowledge(ctx, environment, named[0], cc.reason)
	}
	waiting, err := cc.findWithheld(ctx, environment)
	if err != nil {
		return actions.Result{}, err
	}
	result, err := d.Acknowledge(ctx, environment, waiting.Acknowledge, cc.reason)
	if result.Changed {
		result.Says += "; " + waiting.Reason
	}
	return result, err
}

// checkChange returns an error if the name of a change is malformed, or missing with
// --ahead.
func checkChange(named []string, ahead bool) error {
	const hint = "copy the command from the pull request"
	if len(named) == 0 && ahead {
		return usageErrorf(hint, "--ahead needs the name of a change")
	}
	if len(named) > 0 && !actions.IsChangeName(named[0]) {
		return usageErrorf(hint, "%q is not the name of a change, which has 40 hexadecimal digits", named[0])
	}
	return nil
}

// checkWaiting returns an error for a change that is not the one that waits now. Where that
// is not known, it accepts every change.
func (cc *commandContext) checkWaiting(ctx context.Context, environment, named string) error {
	chain, err := cc.readChain(ctx)
	if err != nil || chain == nil {
		return err
	}
	stage, found := chain.Stage(environment)
	if !found {
		return nil
	}
	i := slices.IndexFunc(stage.Withheld, func(w status.Withheld) bool { return w.Acknowledge != "" })
	switch {
	case i < 0:
		return fmt.Errorf("%s does not wait for an approval in %s, and no other removals do", named, environment)
	case stage.Withheld[i].Acknowledge != named:
		return fmt.Errorf("%s does not wait for an approval in %s; what waits now is %s", named, environment, stage.Withheld[i].Acknowledge)
	}
	return nil
}

// findWithheld returns why the output of an environment waits for an acknowledgement.
func (cc *commandContext) findWithheld(ctx context.Context, environment string) (status.Withheld, error) {
	const hint = "the pull request of the output shows the command; --config FILE or --url URL let Fairlead look it up"
	chain, err := cc.readChain(ctx)
	if err != nil {
		return status.Withheld{}, err
	}
	if chain == nil {
		return status.Withheld{}, usageErrorf(hint, "it is not known which removals wait in %s", environment)
	}
	stage, found := chain.Stage(environment)
	i := slices.IndexFunc(stage.Withheld, func(w status.Withheld) bool { return w.Acknowledge != "" })
	switch {
	case !found:
		return status.Withheld{}, usageErrorf(hint, "%s is not promoted, so that it is not known which removals wait in it", environment)
	case i < 0:
		return status.Withheld{}, fmt.Errorf("no removals wait for an approval in %s", environment)
	}
	return stage.Withheld[i], nil
}

// writeWithheld writes why only a person may merge the output of an environment, and the
// command that acknowledges it.
func writeWithheld(b *strings.Builder, s status.Stage) {
	change := ""
	for _, w := range s.Withheld {
		fmt.Fprintf(b, "Only a person may merge its output: %s.\n", display.SanitizeLine(w.Reason))
		change = max(change, w.Acknowledge)
	}
	if change != "" {
		fmt.Fprintf(b, "To acknowledge exactly this change, merge its pull request, or run:\n  fairlead approve %s %s --removals\n", s.Environment, change)
	}
}

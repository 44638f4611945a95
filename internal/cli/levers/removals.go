package levers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/frame"
	"github.com/fairlead-io/fairlead/internal/display"
	"github.com/fairlead-io/fairlead/internal/lever"
	"github.com/fairlead-io/fairlead/internal/status"
)

// acknowledge approves a change that exceeds an environment's limits: the one that is
// named, or else the one that waits now.
func (s *station) acknowledge(ctx context.Context, d *lever.Desk, environment string, named []string) (lever.Result, error) {
	if len(named) > 0 {
		return d.Acknowledge(ctx, environment, named[0], s.reason)
	}
	waiting, err := s.withheld(ctx, environment)
	if err != nil {
		return lever.Result{}, err
	}
	result, err := d.Acknowledge(ctx, environment, waiting.Acknowledge, s.reason)
	if result.Changed {
		result.Says += "; " + waiting.Reason
	}
	return result, err
}

// withheld returns why the output of an environment waits for an acknowledgement.
func (s *station) withheld(ctx context.Context, environment string) (status.Withheld, error) {
	const hint = "the pull request of the output shows the command; --config FILE or --url URL let Fairlead look it up"
	chain, err := s.chain(ctx)
	if err != nil {
		return status.Withheld{}, err
	}
	if chain == nil {
		return status.Withheld{}, frame.Usagef(hint, "it is not known which removals wait in %s", environment)
	}
	stage, found := chain.Stage(environment)
	i := slices.IndexFunc(stage.Withheld, func(w status.Withheld) bool { return w.Acknowledge != "" })
	switch {
	case !found:
		return status.Withheld{}, frame.Usagef(hint, "%s is not promoted, so that it is not known which removals wait in it", environment)
	case i < 0:
		return status.Withheld{}, fmt.Errorf("no removals wait for an approval in %s", environment)
	}
	return stage.Withheld[i], nil
}

// writeWithheld writes why only a person may merge the output of an environment, and how
// to acknowledge it.
func writeWithheld(b *strings.Builder, s status.Stage) {
	change := ""
	for _, w := range s.Withheld {
		fmt.Fprintf(b, "Only a person may merge its output: %s.\n", display.Visible(w.Reason))
		change = max(change, w.Acknowledge)
	}
	if change != "" {
		fmt.Fprintf(b, "To acknowledge exactly this change, merge its pull request, or run:\n  fairlead approve %s %s --removals\n", s.Environment, change)
	}
}

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newFleetDORA(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	since := ""
	c := &cobra.Command{
		Use:   "dora",
		Short: "Show the four figures of DORA, by month",
		Long: `Dora shows for each environment and month of UTC how well changes come to its clusters:

  DEPLOYMENTS  outputs that were merged
  LEAD         from the newest commit of an output until 95% of the clusters were ready
  FAILED       outputs with which more than 2% of the clusters failed, or that a later one
               took back to an older state
  RESTORE      from the first failure of such an output until 95% of the clusters were ready
               again: with it, or with a later one that changed the same cluster types

Both times are medians. What the ledger does not know counts for none of them.`,
		Example: `  fairlead fleet dora -e prod
  fairlead fleet dora --since 2026-01-01 -o csv`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := cc.parsePast("--since", since)
			if err != nil {
				return err
			}
			return f.printMonths(c.Context(), from)
		},
	}
	c.Flags().SortFlags = false
	f.addEnvironmentFlag(c)
	c.Flags().StringVar(&since, "since", "365d", "from the month of a `time` on: a date, a time, or how long ago, as 365d")
	cc.addFleetFlags(c)
	return c
}

func (f *fleetCommand) printMonths(ctx context.Context, since time.Time) error {
	return f.ask(ctx, func(of fleetAsker) error {
		all, err := askAll[fleetview.Month](ctx, of, "dora", newValues("environment", f.environment, "since", since.UTC().Format(time.RFC3339)))
		if err != nil {
			return err
		}
		return f.app.printListing(newMonthsListing(all))
	})
}

func newMonthsListing(all []fleetview.Month) listing {
	l := listing{value: all, empty: "no output was merged in this time\n", columns: []column{
		{key: "environment"}, {key: "month"}, {key: "deployments"}, {key: "lead"}, {key: "failed"}, {key: "restore"}, {key: "known", wide: true},
	}}
	for _, m := range all {
		l.rows = append(l.rows, []any{m.Environment, m.Month, m.Deployments, maybeElapsed{m.Lead}, share{m.Failed, m.Known}, maybeElapsed{m.Restore}, m.Known})
	}
	return l
}

// maybeElapsed is in seconds; nil if unknown.
type maybeElapsed struct{ seconds *int }

func (e maybeElapsed) String() string {
	if e.seconds == nil {
		return ""
	}
	return display.FormatAge(time.Duration(*e.seconds) * time.Second)
}

func (e maybeElapsed) ExactText() string {
	if e.seconds == nil {
		return ""
	}
	return fmt.Sprint(*e.seconds)
}

type share struct{ number, of int }

func (s share) String() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d (%d%%)", s.number, s.of, (200*s.number+s.of)/(2*s.of))
}

func (s share) ExactText() string { return fmt.Sprint(s.number) }

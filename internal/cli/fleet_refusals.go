package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

func newFleetRefusals(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	since := ""
	c := &cobra.Command{
		Use:   "refusals",
		Short: "List which reports of clusters were refused, and why",
		Long: `Refusals lists the reports that did not count: the cluster that they claimed to be of, the
reason, how many they were and when the last one came, and in WHY what to do about it. Names
that no cluster has ever reported under are counted together, as -.`,
		Example: `  fairlead fleet refusals
  fairlead fleet refusals --cluster east-1 --since 30d -o csv`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := cc.parsePast("--since", since)
			if err != nil {
				return err
			}
			return f.ask(c.Context(), func(of fleetAsker) error {
				values := newValues("cluster", f.cluster, "since", from.UTC().Format(time.RFC3339))
				all, err := askAll[fleetview.Refusal](c.Context(), of, "refusals", values)
				if err != nil {
					return err
				}
				return cc.app.printListing(newRefusalsListing(all, cc.now()))
			})
		},
	}
	c.Flags().SortFlags = false
	f.addClusterFlag(c)
	c.Flags().StringVar(&since, "since", "7d", "only what was refused since a `time`: a date, a time, or how long ago, as 36h or 30d")
	cc.addFleetFlags(c)
	return c
}

func newRefusalsListing(all []fleetview.Refusal, now time.Time) listing {
	l := listing{value: all, names: []string{}, empty: "no report was refused in this time\n", columns: []column{
		{key: "cluster"}, {key: "reason"}, {key: "count"}, {key: "last"}, {key: "why", fit: display.Wrap},
	}}
	for _, r := range all {
		if r.Cluster != "" && !slices.Contains(l.names, r.Cluster) {
			l.names = append(l.names, r.Cluster)
		}
		l.rows = append(l.rows, []any{r.Cluster, r.Reason, r.Count, plaintext.NewAge(r.Last, now), r.Why})
	}
	return l
}

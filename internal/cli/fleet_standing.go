package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

func (f *fleetCommand) printStandings(ctx context.Context) error {
	return f.ask(ctx, func(of fleetAsker) error {
		all, err := askAll[fleetview.Standing](ctx, of, "standing", newValues("environment", f.environment))
		if err != nil {
			return err
		}
		return f.app.printListing(newListing(plaintext.NewStandingsTable(all, f.now()), all))
	})
}

func newClustersQuestion[T any](cc *commandContext, c *cobra.Command, question string, list func(ctx context.Context, of fleetAsker, environment string, all []T) (listing, error)) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	c.Args, c.ValidArgsFunction = checkArguments(1, 1), completeArguments(cc.completeNames)
	c.RunE = func(c *cobra.Command, args []string) error {
		return f.ask(c.Context(), func(of fleetAsker) error {
			all, err := askAll[T](c.Context(), of, question, newValues("environment", args[0], "type", f.clusterType))
			if err != nil {
				return err
			}
			l, err := list(c.Context(), of, args[0], all)
			if err != nil {
				return err
			}
			return cc.app.printListing(l)
		})
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&f.clusterType, "type", "", "only the clusters of this cluster `type`")
	cc.addFleetFlags(c)
	return c
}

func newFleetBehind(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "behind ENVIRONMENT",
		Short: "List the clusters of an environment that are not ready, and why",
		Long: `Behind lists the clusters that do not run the newest output of their environment, by what keeps
them: suspended, contested, unheard, unproven, silent, source (it cannot be fetched),
dependency (another object has failed), failed, waiting (the output was merged a short time
ago) or unknown.`,
		Example: `  fairlead fleet behind prod
  fairlead fleet behind prod -o name`,
	}
	return newClustersQuestion(cc, c, "behind", func(ctx context.Context, of fleetAsker, environment string, all []fleetview.Laggard) (listing, error) {
		l := newLaggardsListing(environment, all, cc.now())
		counts, err := countAgents(ctx, of, environment)
		if counts.clusters == 0 {
			l.empty = sayNoCluster(environment)
		}
		return l, err
	})
}

func newLaggardsListing(environment string, all []fleetview.Laggard, now time.Time) listing {
	l := listing{value: all, names: []string{}, empty: fmt.Sprintf("all clusters of %s are ready\n", environment), colour: standingColour, columns: []column{
		{key: "cluster"}, {key: "clusterType"}, {key: "standing"}, {key: "cause"}, {key: "since"}, {key: "lastSeen"}, {key: "why", fit: display.Wrap}, {key: "object", wide: true},
	}}
	for _, g := range all {
		name := g.Cluster
		if name == "" {
			name = fmt.Sprintf("%d unheard", g.Clusters)
		} else {
			l.names = append(l.names, name)
		}
		l.rows = append(l.rows, []any{name, g.Type, g.Standing, g.Cause, plaintext.NewAge(g.Since, now), plaintext.NewAge(g.LastSeen, now), g.Why, g.Object})
	}
	return l
}

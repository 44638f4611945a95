package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

type fleetCommand struct {
	*commandContext
	environment, clusterType, cluster string
}

func (f *fleetCommand) addEnvironmentFlag(c *cobra.Command) {
	c.Flags().StringVarP(&f.environment, "environment", "e", "", "only the clusters of this `environment`")
	_ = c.RegisterFlagCompletionFunc("environment", f.completeNames)
}

func (f *fleetCommand) ask(ctx context.Context, do func(fleetAsker) error) error {
	of, err := f.openFleet(ctx)
	if err != nil {
		return err
	}
	defer of.Close()
	return do(of)
}

func newFleetClusters(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	silent := false
	c := &cobra.Command{
		Use:   "clusters",
		Short: "List the clusters, and how each stands to what is wanted",
		Long: `Clusters lists the clusters that were ever in touch, by environment and name. STANDING is how a
cluster stands to the newest output of its environment: retired (it is no longer expected),
moved (it has lately left for another environment), excluded (a closed list does not name it, or
its key is for other environments), contested, unproven, silent, failed, unknown, behind,
progressing or ready, the first that fits; WHY says more. A cluster is ready if it runs what the
folder of its cluster type holds, whichever commit it names.`,
		Example: `  fairlead fleet clusters
  fairlead fleet clusters -e prod --silent
  fairlead fleet clusters -e prod -o csv > clusters.csv`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			standing := ""
			if silent {
				standing = ledger.ClassSilent.String()
			}
			return f.ask(c.Context(), func(of fleetAsker) error {
				values := newValues("environment", f.environment, "type", f.clusterType, "standing", standing)
				all, err := askAll[fleetview.Cluster](c.Context(), of, "clusters", values)
				if err != nil {
					return err
				}
				return cc.app.printListing(newClustersListing(all, cc.now()))
			})
		},
	}
	c.Flags().SortFlags = false
	f.addEnvironmentFlag(c)
	c.Flags().StringVar(&f.clusterType, "type", "", "only the clusters of this cluster `type`")
	c.Flags().BoolVar(&silent, "silent", false, "only those that have missed three reports")
	cc.addFleetFlags(c)
	return c
}

func newClustersListing(all []fleetview.Cluster, now time.Time) listing {
	l := listing{value: all, empty: "no cluster\n", colour: standingColour, columns: []column{
		{key: "name"}, {key: "environment"}, {key: "clusterType"}, {key: "standing"}, {key: "revision"}, {key: "since"}, {key: "lastSeen"}, {key: "why", fit: display.Wrap},
		{key: "attempted", wide: true}, {key: "firstSeen", wide: true}, {key: "movedFrom", wide: true}, {key: "moved", wide: true},
	}}
	for _, c := range all {
		from, moved := "", time.Time{}
		if c.MovedFrom != nil {
			from, moved = c.MovedFrom.Environment+"/"+c.MovedFrom.Type, c.MovedFrom.Until
		}
		l.rows = append(l.rows, []any{
			c.Name, c.Environment, c.Type, c.Standing, plaintext.Revision(c.Revision), plaintext.NewAge(c.Since, now), plaintext.NewAge(c.LastSeen, now), c.Why, plaintext.Revision(c.Attempted), plaintext.NewAge(c.FirstSeen, now), from, plaintext.NewAge(moved, now),
		})
	}
	return l
}

func standingColour(cell string) string {
	switch cell {
	case ledger.ClassReady.String():
		return display.Green
	case ledger.ClassFailed.String(), ledger.ClassContested.String():
		return display.Red
	case ledger.ClassSilent.String(), ledger.ClassUnproven.String(), ledger.ClassUnheard.String(), ledger.ClassUnknown.String():
		return display.Yellow
	}
	return ""
}

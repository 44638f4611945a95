package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newFleetRetire(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "retire NAME",
		Short: "Stop expecting a cluster",
		Long: `Retire writes, in one commit, that a cluster is no longer expected: the gate rollout with
of: expected does not wait for it any more. The base says so in .fairlead/clusters/NAME.yaml,
so that it outlives the ledger. What the cluster still reports does not count. Renew its key
or adopt it to expect it again.

Clusters that have been silent for ledger.retire of the settings, 7 days, retire by
themselves. Those in a ClusterList stay expected: remove them there.`,
		Example:           `  fairlead fleet retire east-1 --reason "the site was closed"`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: completeArguments(cc.completeClusters),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if err := ledger.CheckClusterName(args[0]); err != nil {
				return usageErrorf("as in east-1", "%v", err)
			}
			if err := cc.requireReason("a retirement"); err != nil {
				return err
			}
			d, err := cc.openForEnvironments(ctx)
			if err == nil {
				err = cc.checkHasReported(ctx, args[0])
			}
			if err != nil {
				return err
			}
			finish := cc.finishAction(ctx)
			return finish(d.RetireCluster(ctx, args[0], cc.reason))
		},
	}
	cc.addActionFlags(c, "")
	return c
}

// checkHasReported returns the usage error of an unknown cluster. Without a ledger it
// is only a note: the base may be changed from anywhere.
func (cc *commandContext) checkHasReported(ctx context.Context, name string) error {
	names, err := cc.listClusters(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(cc.app.stderr, "fairlead: note: it was not checked whether a cluster %s has reported: %s\n", name, display.SanitizeLine(err.Error()))
		return nil
	case !slices.Contains(names, name):
		return usageErrorf(cmp.Or(problem.DidYouMean(name, names), "fairlead fleet clusters lists those that have"), "no cluster %s has ever reported", name)
	}
	return nil
}

func (cc *commandContext) listClusters(ctx context.Context) ([]string, error) {
	of, err := cc.openFleet(ctx)
	if err != nil {
		return nil, err
	}
	defer of.Close()
	all, err := askAll[fleetview.Cluster](ctx, of, "clusters", newValues())
	return list.Convert(all, func(c fleetview.Cluster) string { return c.Name }), err
}

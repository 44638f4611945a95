package cli

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

func newFleetRetire(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "retire NAME",
		Short: "Stop expecting a cluster",
		Long: `Retire writes, in one commit, that a cluster is no longer expected: the gate rollout with
of: expected does not wait for it any more. The base says so in .fairlead/clusters/NAME.yaml,
so that it outlives the ledger. A cluster that is in touch again is expected again.

Clusters that have been silent for ledger.retire of the settings, 7 days, retire by
themselves. Those in a ClusterList stay expected: remove them there.`,
		Example: `  fairlead fleet retire east-1 --reason "the site was closed"`,
		Args:    checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if err := ledger.CheckClusterName(args[0]); err != nil {
				return usageErrorf("as in east-1", "%v", err)
			}
			if err := cc.requireReason("a retirement"); err != nil {
				return err
			}
			d, err := cc.openForEnvironments(ctx)
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

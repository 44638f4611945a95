package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

func newFleetAdopt(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "adopt NAME",
		Short: "Let a rebuilt cluster have the name of the one before",
		Long: `Adopt writes, in one commit, that a cluster which was built anew takes the place of the one
before: until then two clusters report under one name, which is contested, and only the first
counts. The base says so in .fairlead/clusters/NAME.yaml, so that it outlives the ledger.

The cluster before must be silent: it has missed three reports. While both are in touch, none
is adopted. The history of the name goes on: what the cluster before ran ends with its last
report. A cluster that was given a new key, by fleet token --renew after the cluster before
was last in touch, is adopted by itself.

Adopt asks the ledger first, if the settings or --url say where it is.`,
		Example: `  fairlead fleet adopt east-1 --reason "the site was built anew"`,
		Args:    checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if err := ledger.CheckClusterName(args[0]); err != nil {
				return usageErrorf("as in east-1", "%v", err)
			}
			if err := cc.requireReason("an adoption"); err != nil {
				return err
			}
			if err := cc.requireAdoptable(ctx, args[0]); err != nil {
				return err
			}
			d, err := cc.openForEnvironments(ctx)
			if err != nil {
				return err
			}
			finish := cc.finishAction(ctx)
			return finish(d.AdoptCluster(ctx, args[0], cc.reason))
		},
	}
	cc.addActionFlags(c, "")
	cc.addURLFlag(c)
	return c
}

// requireAdoptable returns an error if the ledger knows that the daemon would refuse
// the adoption.
func (cc *commandContext) requireAdoptable(ctx context.Context, name string) error {
	err := cc.readSettings()
	if err != nil {
		return err
	}
	if cc.daemonURL == "" && (cc.settings == nil || !cc.settings.HasLedger()) {
		return nil
	}
	of, err := cc.openFleet(ctx)
	if err != nil {
		return err
	}
	defer of.Close()
	all, err := askAll[fleetview.Cluster](ctx, of, "clusters", newValues("cluster", name))
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := checkAdoptable(c); err != nil {
			return err
		}
	}
	return nil
}

func checkAdoptable(c fleetview.Cluster) error {
	contest := c.Contest
	switch {
	case contest == nil && (c.Standing == ledger.ClassSilent.String() || c.Standing == fleetview.Retired), contest != nil && contest.Adoptable:
		return nil
	case contest == nil:
		return problem.Refusef("adopt the new cluster once the one before is off", "no other cluster reports as %s, and this one is not silent", c.Name)
	case contest.Object != "":
		return problem.Refusef("give each of them a name and a key of its own",
			"two clusters report as %s by events, which name no cluster: %s has the uid %s on one, and %s on the other", c.Name, contest.Object, contest.UID, contest.Rival)
	}
	return problem.Refusef("turn the cluster off that was there before, or give each of them a name and a key of its own",
		"two clusters are in touch as %s: one has the uid %s, and the other one %s", c.Name, contest.UID, contest.Rival)
}

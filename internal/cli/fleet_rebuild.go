package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
)

func newFleetRebuild(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Read again from Git what clusters should run",
		Long: `Rebuild reads all commits of the output branches, and puts what they hold into the ledger in the
place of what it has: which output came when, and what each deployment target on each cluster
type should run. What clusters have reported stays. Either all is replaced or nothing, and a
daemon may run meanwhile.

The daemon records what is new by itself, and begins again with a ledger that was lost; the
command is for a ledger that is in doubt. Commits that are no longer on their branch, because
it was rewritten, are not found again.`,
		Example: `  fairlead fleet rebuild --config fairlead.yaml`,
		Args:    checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := cc.rebuildLedger(c.Context())
			if err != nil {
				return err
			}
			return cc.app.printListing(newRebuiltListing(done))
		},
	}
	c.Flags().SortFlags = false
	addConfigFlag(c, &cc.settingsFile, "", " (default: "+defaultSettingsFile+")")
	cc.app.addTableFlag(c)
	return c
}

func (cc *commandContext) rebuildLedger(ctx context.Context) ([]recorder.Rebuilt, error) {
	err := cc.requireLedger()
	if err != nil {
		return nil, err
	}
	d, err := cc.openSession(ctx, git.Signature{})
	if err != nil {
		return nil, err
	}
	names, err := d.Environments(ctx)
	if err != nil {
		return nil, err
	}
	var branches []wanted.Branch
	for i, name := range names {
		b, found, err := d.FindOutputBranch(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("find the output of %s: %w", name, err)
		}
		if found {
			b.Order = i
			branches = append(branches, b)
		}
	}
	store, err := cc.openStore(ctx, ledgerdb.OpenSQLite, ledgerdb.OpenPostgres)
	if err != nil {
		return nil, err
	}
	done, err := recorder.RebuildOutputs(ctx, store, branches)
	return done, errors.Join(err, store.Close())
}

func newRebuiltListing(all []recorder.Rebuilt) listing {
	l := listing{value: all, empty: "no environment has an output\n", columns: []column{{key: "environment"}, {key: "outputs"}, {key: "clusterTypes"}, {key: "assignments"}}}
	outputs := 0
	for _, r := range all {
		outputs += r.Outputs
		l.rows = append(l.rows, []any{r.Environment, r.Outputs, r.ClusterTypes, r.Assignments})
	}
	if len(all) > 0 {
		l.below = fmt.Sprintf("\nThe ledger has %s, read again from Git.\n", text.Count(outputs, "output"))
	}
	return l
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newFleet(a *app) *cobra.Command { return newFleetOf(newCommandContext(a)) }

func newFleetOf(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	c := &cobra.Command{
		Use:     "fleet",
		GroupID: groupDaemon,
		Short:   "Ask which clusters run what, and print their keys",
		Long: `Fleet shows for each environment how many of its clusters run its newest output, and its
commands ask for more: of a running daemon, or where none answers of the ledger of the
settings. EXPECTED are the clusters that a gate with of: expected counts, OTHER those that are
unknown, unproven, unheard or contested, and P95 is how long after the merge 95% of the
clusters were ready.`,
		Example: `  fairlead fleet
  fairlead fleet behind prod
  fairlead fleet where checkout-api`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return f.printStandings(c.Context()) },
	}
	c.Flags().SortFlags = false
	f.addEnvironmentFlag(c)
	cc.addFleetFlags(c)
	c.AddCommand(newFleetList(cc), newFleetClusters(cc), newFleetBehind(cc), newFleetWhere(cc), newFleetHistory(cc), newFleetCompare(cc), newFleetLeadTime(cc), newFleetDORA(cc), newFleetDrift(cc), newFleetRefusals(cc), newFleetRebuild(cc), newFleetExport(cc), newFleetImport(cc), newFleetToken(cc), newFleetRetire(cc), newFleetAdopt(cc))
	return c
}

func newFleetList(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the environments, and how many of their clusters run what is newest",
		Long:  "List prints what fairlead fleet prints without a command.",
		Example: `  fairlead fleet list
  fairlead fleet list -e prod -o json`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return f.printStandings(c.Context()) },
	}
	c.Flags().SortFlags = false
	f.addEnvironmentFlag(c)
	cc.addFleetFlags(c)
	return c
}

type clusterToken struct {
	Cluster string `json:"cluster"`
	Epoch   int    `json:"epoch"` // number of renewals
	Key     string `json:"key,omitempty"`
	// Renewal is the written renewal, or nil.
	Renewal *actions.Result `json:"renewal,omitempty"`
}

func newFleetToken(cc *commandContext) *cobra.Command {
	renew := false
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Print the key of a cluster",
		Long: `Token prints the key by which a cluster proves its name, and nothing else on standard
output. It derives the key from ledger.secret of the settings, the name, and how often the
key was renewed, which the base says in .fairlead/clusters/NAME.yaml.

--renew writes that file, in one commit, and prints the next key. The key before is good for
24 hours more, so that the cluster can be given the new one. Renew it twice to have it
refused at once.`,
		Example: `  printf %s "$(fairlead fleet token east-1)" |
    kubectl create secret generic fairlead -n flux-system --from-file=token=/dev/stdin
  fairlead fleet token east-1 --renew --reason "the old one was in a log"`,
		Args: checkArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			token, err := cc.readToken(c.Context(), args[0], renew)
			if err != nil {
				return err
			}
			return cc.printToken(c.Context(), token)
		},
	}
	cc.addActionFlags(c, "; only --renew needs it")
	c.Flags().BoolVar(&renew, "renew", false, "replace the key by the next one")
	return c
}

func (cc *commandContext) readToken(ctx context.Context, cluster string, renew bool) (clusterToken, error) {
	token := clusterToken{Cluster: cluster}
	if err := ledger.CheckClusterName(cluster); err != nil {
		return token, usageErrorf("as in east-1", "%v", err)
	}
	if renew {
		if err := cc.requireReason("a renewed key"); err != nil {
			return token, err
		}
	}
	if err := cc.readSettings(); err != nil {
		return token, err
	}
	if cc.settings == nil {
		return token, usageErrorf("run it where the settings of the daemon are, or name them with --config FILE",
			"there are no settings here, and the key of %s is derived from ledger.secret of the settings", cluster)
	}
	if cc.settings.Ledger.Secret == nil {
		return token, usageErrorf("write where one is into the settings, as ledger: {secret: {file: ledger-secret}}; openssl rand -base64 32 makes one",
			"there is no secret to derive keys from")
	}
	secrets, err := cc.settings.LedgerSecrets()
	if err != nil {
		return token, err
	}
	epoch, err := cc.findEpoch(ctx, &token, renew)
	if err != nil || renew && cc.app.dryRun {
		return token, err
	}
	token.Epoch = epoch.Number
	token.Key, err = ledger.DeriveKey(secrets[0], cluster, epoch.Number)
	return token, err
}

func (cc *commandContext) findEpoch(ctx context.Context, token *clusterToken, renew bool) (ledger.Epoch, error) {
	if !renew {
		d, err := cc.openSession(ctx, git.Signature{})
		if err != nil {
			return ledger.Epoch{}, err
		}
		return d.KeyEpoch(ctx, token.Cluster)
	}
	d, err := cc.openForEnvironments(ctx)
	if err != nil {
		return ledger.Epoch{}, err
	}
	epoch, done, err := d.RenewKey(ctx, token.Cluster, cc.reason)
	token.Renewal = &done
	return epoch, cc.explainActionError(err)
}

func (cc *commandContext) printToken(ctx context.Context, token clusterToken) error {
	if token.Renewal != nil && cc.app.isText() && !cc.app.dryRun {
		fmt.Fprint(cc.app.stderr, doneText(*token.Renewal))
	}
	if token.Renewal != nil && token.Renewal.Commit != "" {
		cc.wakeKnownDaemon(ctx)
	}
	return cc.app.printValue(token, []string{token.Cluster}, func() string {
		if token.Key == "" {
			return doneText(*token.Renewal)
		}
		return display.SanitizeLine(token.Key) + "\n"
	})
}

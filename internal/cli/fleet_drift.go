package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

func newFleetDrift(cc *commandContext) *cobra.Command {
	c := &cobra.Command{
		Use:   "drift ENVIRONMENT",
		Short: "List what differs on clusters from what is wanted",
		Long: `Drift lists the objects that are missing on clusters that are otherwise ready, that are still
there although the output no longer has them, and, of Rancher Fleet, that were changed on the
cluster. Only agents tell it: the last line says of how many clusters it is not known. Objects
that were never in the output are other people's, and not listed.`,
		Example: `  fairlead fleet drift prod
  fairlead fleet drift prod -o json`,
	}
	return newClustersQuestion(cc, c, "drift", func(ctx context.Context, of fleetAsker, environment string, all []fleetview.Drift) (listing, error) {
		counts, err := countAgents(ctx, of, environment)
		return newDriftListing(environment, all, counts), err
	})
}

func newDriftListing(environment string, all []fleetview.Drift, counts agentCounts) listing {
	l := listing{value: all, columns: []column{
		{key: "cluster"}, {key: "clusterType"}, {key: "drift"}, {key: "object"}, {key: "target"}, {key: "message", fit: display.Wrap},
	}}
	for _, d := range all {
		l.rows = append(l.rows, []any{d.Cluster, d.Type, d.Drift, d.Object, d.Target, d.Message})
	}
	switch without := counts.clusters - counts.agents; {
	case counts.clusters == 0:
		l.empty = sayNoCluster(environment)
	case without == 0:
		l.empty = fmt.Sprintf("no drift on the clusters of %s\n", environment)
	case counts.agents == 0:
		l.empty = fmt.Sprintf("it is not known what differs on the clusters of %s\n", environment)
		l.below = "None of them has an agent, which alone tells it. " + connectAgent
	default:
		l.empty = fmt.Sprintf("no drift on the %s of %s that have an agent\n", text.Count(counts.agents, "cluster"), environment)
		l.below = fmt.Sprintf("\nWhat differs on the others, %d of %d, is not known: they have no agent. %s", without, counts.clusters, connectAgent)
	}
	return l
}

func sayNoCluster(environment string) string {
	return fmt.Sprintf("no cluster of %s has reported\n", environment)
}

const connectAgent = "Connect one:\n  fairlead cluster connect NAME --agent --server URL --image IMAGE\n"

type agentCounts struct{ clusters, agents int }

func countAgents(ctx context.Context, of fleetAsker, environment string) (agentCounts, error) {
	var counts agentCounts
	all, err := askAll[fleetview.Standing](ctx, of, "standing", newValues("environment", environment))
	for _, s := range all {
		counts.clusters += s.Expected - s.Unheard
		counts.agents += s.Agents
	}
	return counts, err
}

// noteAgents explains missing workloads of environments by missing agents; "" means
// all.
func noteAgents(ctx context.Context, of fleetAsker, l *listing, environments ...string) error {
	var without []string
	for _, name := range environments {
		counts, err := countAgents(ctx, of, name)
		if err != nil {
			return err
		}
		if counts.clusters > 0 && counts.agents == 0 {
			without = append(without, name)
		}
	}
	if len(without) == 0 {
		return nil
	}
	which := ""
	if without[0] != "" {
		which = " of " + text.Join(without, " and ")
	}
	if len(l.rows) > 0 {
		l.below += "\n"
	}
	l.below += "None of the clusters" + which + " has an agent, which alone reports workloads. " + connectAgent
	return nil
}

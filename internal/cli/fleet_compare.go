package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

func newFleetCompare(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	all := false
	c := &cobra.Command{
		Use:   "compare ENVIRONMENT ENVIRONMENT",
		Short: "Compare the versions that the clusters of two environments run",
		Long: `Compare lists the workloads of which the clusters of two environments run different versions,
and on how many clusters each runs. A workload that one of the two does not have differs.`,
		Example: `  fairlead fleet compare stage prod
  fairlead fleet compare stage prod --all -o csv`,
		Args:              checkArguments(2, 2),
		ValidArgsFunction: completeArguments(cc.completeNames, cc.completeNames),
		RunE: func(c *cobra.Command, args []string) error {
			return f.ask(c.Context(), func(of fleetAsker) error {
				found, err := askAll[fleetview.Comparison](c.Context(), of, "compare", newValues("environment", args[0], "with", args[1]))
				if err != nil {
					return err
				}
				l := newComparisonsListing(found, args, all)
				err = noteAgents(c.Context(), of, &l, findSilentEnvironments(found, args)...)
				if err != nil {
					return err
				}
				return cc.app.printListing(l)
			})
		},
	}
	c.Flags().SortFlags = false
	c.Flags().BoolVar(&all, "all", false, "also the workloads that are the same in both")
	cc.addFleetFlags(c)
	return c
}

func findSilentEnvironments(found []fleetview.Comparison, environments []string) []string {
	return slices.DeleteFunc(slices.Clone(environments), func(name string) bool {
		return slices.ContainsFunc(found, func(c fleetview.Comparison) bool {
			return slices.ContainsFunc(c.Environments, func(e fleetview.Environment) bool { return e.Name == name && len(e.Runs) > 0 })
		})
	})
}

func newComparisonsListing(found []fleetview.Comparison, environments []string, all bool) listing {
	l := listing{empty: fmt.Sprintf("%s and %s run the same\n", environments[0], environments[1]), columns: []column{
		{key: "workload"}, {key: environments[0], fit: display.Wrap}, {key: environments[1], fit: display.Wrap}, {key: "object", wide: true},
	}}
	if len(found) == 0 { // neither equal nor different
		l.empty = fmt.Sprintf("no cluster of %s or %s has reported a workload\n", environments[0], environments[1])
	}
	shown := []fleetview.Comparison{}
	for _, c := range found {
		if !c.Differs && !all {
			continue
		}
		shown = append(shown, c)
		row := []any{c.Workload}
		for _, e := range c.Environments {
			row = append(row, runsText(e.Runs))
		}
		l.rows = append(l.rows, append(row, c.Object))
	}
	l.value = shown
	return l
}

func runsText(runs []fleetview.Run) string {
	var all []string
	for _, r := range runs {
		name := versionCell{r.Version, r.Revision, r.App}.String()
		if name == "" {
			name = "none"
		}
		all = append(all, fmt.Sprintf("%s (%d)", name, r.Clusters))
	}
	return strings.Join(all, ", ")
}

func newFleetLeadTime(cc *commandContext) *cobra.Command {
	f := &fleetCommand{commandContext: cc}
	since := ""
	c := &cobra.Command{
		Use:   "lead-time",
		Short: "Show how long outputs took to the clusters",
		Long: `Lead-time lists the outputs of an environment, or of all, the newest first: how long after the
merge half and 95% of the clusters that have it were ready with it, and the slowest; LEAD is
from the newest commit that the output was rendered from to 95%. An output counts for
the clusters of those types only whose folder it changed. How long it took is known of clusters
that were in touch before the merge; of outputs before them all, nothing is.`,
		Example: `  fairlead fleet lead-time -e prod
  fairlead fleet lead-time -e prod --since 30d -o csv`,
		Args: checkArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := cc.parsePast("--since", since)
			if err != nil {
				return err
			}
			return f.printLeadTimes(c.Context(), from)
		},
	}
	c.Flags().SortFlags = false
	f.addEnvironmentFlag(c)
	c.Flags().StringVar(&since, "since", "30d", "only outputs that were merged since a `time`: a date, a time, or how long ago, as 36h or 30d")
	cc.addFleetFlags(c)
	return c
}

func (f *fleetCommand) printLeadTimes(ctx context.Context, since time.Time) error {
	return f.ask(ctx, func(of fleetAsker) error {
		standings, err := askAll[fleetview.Standing](ctx, of, "standing", newValues("environment", f.environment))
		if err != nil {
			return err
		}
		all := []fleetview.LeadTime{}
		for _, s := range standings {
			if s.Environment == "" {
				continue
			}
			some, err := askAll[fleetview.LeadTime](ctx, of, "lead", newValues("environment", s.Environment, "since", since.UTC().Format(time.RFC3339)))
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return f.app.printListing(newLeadTimesListing(all, f.now()))
	})
}

func newLeadTimesListing(all []fleetview.LeadTime, now time.Time) listing {
	l := listing{value: all, names: []string{}, empty: "no output was merged in this time\n", columns: []column{
		{key: "environment"}, {key: "output"}, {key: "merged"}, {key: "clusters"}, {key: "failed"}, {key: "p50"}, {key: "p95"}, {key: "slowest"}, {key: "lead"},
		{key: "base", wide: true}, {key: "authored", wide: true},
	}}
	for _, o := range all {
		l.names = append(l.names, o.Output)
		l.rows = append(l.rows, []any{
			o.Environment, plaintext.Revision(o.Output), plaintext.NewAge(o.Merged, now), count{o.Clusters, o.Unknown}, count{o.Failed, o.Unknown}, plaintext.Elapsed(o.P50), plaintext.Elapsed(o.P95), plaintext.Elapsed(o.Slowest), plaintext.Elapsed(o.Lead), plaintext.Revision(o.Base), plaintext.NewAge(o.Authored, now),
		})
	}
	return l
}

// count is a possibly unknown number in a table.
type count struct {
	number  int
	unknown bool
}

func (c count) String() string {
	if c.unknown {
		return "unknown"
	}
	return fmt.Sprint(c.number)
}

func (c count) ExactText() string {
	if c.unknown {
		return ""
	}
	return fmt.Sprint(c.number)
}

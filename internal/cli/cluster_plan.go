package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type clusterPlanCommand struct {
	diffCommand
	guards problem.List
}

func newClusterPlan(a *app) *cobra.Command {
	p := &clusterPlanCommand{diffCommand: diffCommand{app: a}}
	c := &cobra.Command{
		Use:   "plan A B",
		Short: "Show in which order clusters change when A becomes B",
		Long: `Plan renders A and B, and shows in which order the clusters that InputManifests describe
change when A becomes B: what is added, switched and removed, what is disruptive meanwhile,
and what cannot be reverted. A and B are what fairlead diff takes. If A is a checkout of the
GitOps repository, the plan begins with the clusters that it has.

It exits with 3 if the change must not be merged as it is, and says what to do instead.`,
		Example: `  fairlead cluster plan dev dev@my-change
  fairlead cluster plan -e dev --worktree
  fairlead cluster plan -e dev ../gitops dev --output mermaid`,
		ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			sides, err := p.withWorktree(c.Context(), args)
			if err != nil {
				return err
			}
			return p.runPlan(c.Context(), sides[0], sides[1])
		},
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if p.input.worktree {
			return checkArguments(0, 1)(c, args)
		}
		return checkSides(c, args)
	}
	p.input.addEnvironmentFlag(c, "all that A and B are of")
	a.addOutputFlag(c, "mermaid")
	p.input.addInputFlags(c)
	return c
}

type plannedClusters struct {
	Environment string `json:"environment,omitempty"`
	impact.ClusterChange
}

func (p *clusterPlanCommand) runPlan(ctx context.Context, from, to string) error {
	sides, err := p.openSides(ctx, from, to)
	if err != nil {
		return err
	}
	p.noteBranches(ctx, sides)
	names, err := p.comparedEnvironments(sides)
	if err != nil {
		return err
	}
	all := []plannedClusters{}
	err = p.input.forEachEnvironment(names, "plan", func(name string) error {
		both, err := p.renderSides(ctx, name, sides)
		if err != nil {
			return err
		}
		models := modelsOf(both)
		changes := impact.CompareClusters(both[0].Tree, both[1].Tree)
		if len(models) == len(sides) {
			states := provision.NewStates(models[0])
			changes = impact.CompareStates(states, provision.NewStates(models[1]))
		}
		p.guards = append(p.guards, p.checkClusters(sides, both)...)
		for _, c := range changes {
			all = append(all, plannedClusters{name, c})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.printClusters(all); err != nil {
		return err
	}
	if len(p.guards) > 0 {
		fmt.Fprint(p.app.stderr, display.FormatProblems(p.guards.Sorted(), p.app.stderr))
	}
	if p.guards.Stops() {
		return errRefusedChange
	}
	return nil
}

func environmentOf(c plannedClusters) string { return c.Environment }

func manifestOf(c plannedClusters) string { return c.Manifest }

// isSeveral reports whether steps must be told apart by a property.
func isSeveral(all []plannedClusters, of func(plannedClusters) string) bool {
	return slices.ContainsFunc(all, func(c plannedClusters) bool { return of(c) != of(all[0]) })
}

// nameStep returns a step's name for fairlead explain: its id, with the manifest if
// ambiguous.
func nameStep(all []plannedClusters, c plannedClusters, id string) string {
	isOther := func(o plannedClusters) bool {
		return o.Manifest != c.Manifest && slices.ContainsFunc(o.Steps, func(s provision.Step) bool { return s.ID == id })
	}
	if slices.ContainsFunc(all, isOther) {
		return path.Join(c.Manifest, id)
	}
	return id
}

func (p *clusterPlanCommand) printClusters(all []plannedClusters) error {
	if p.app.format == "mermaid" {
		var b strings.Builder
		for _, c := range all {
			b.WriteString(c.MermaidGraph())
		}
		_, err := fmt.Fprint(p.app.stdout, b.String())
		return err
	}
	l := listing{
		columns: []column{
			{key: "environment", wide: !isSeveral(all, environmentOf)}, {key: "manifest", wide: !isSeveral(all, manifestOf)}, {key: "cluster"}, {key: "step"}, {key: "why"}, {key: "phase"}, {key: "disruption"}, {key: "reversible"},
			{key: "id", wide: true}, {key: "after", wide: true},
		},
		names: []string{}, value: all, empty: "no cluster changes\n",
	}
	var below strings.Builder
	for _, c := range all {
		for _, s := range c.Steps {
			why := strings.Join(list.Convert(s.Reason, provision.Change.String), "; ")
			l.rows = append(l.rows, []any{c.Environment, c.Manifest, s.Cluster, s.Sentence(), why, string(s.Phase), string(s.Disruption), s.Reversible, s.ID, s.After})
			l.names = append(l.names, nameStep(all, c, s.ID))
		}
		if c.Unknown != "" {
			fmt.Fprintf(&below, "%s: the steps are not known: %s\n", display.SanitizeLines(c.Manifest), display.SanitizeLines(c.Unknown))
		}
	}
	l.below = below.String()
	return p.app.printListing(l)
}

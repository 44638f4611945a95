package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

type getCommand struct {
	app   *app
	input input
}

type kindOfListing struct {
	names   []string // the first one is in the help
	prefix  string   // of names in fairlead explain
	columns []column
	rows    func(m *model.Model, plan *schedule.Plan) [][]any // without the environment
}

// objectName returns a row's name for fairlead explain, with the environment if there
// are several.
func (k kindOfListing) objectName(environment string, row []any, several bool) string {
	name := k.prefix + plaintext.FormatCell(row[0])
	if several {
		name = environment + "/" + name
	}
	return name
}

var listedKinds = []kindOfListing{
	{[]string{"clusters", "cluster", "clustertypes"}, "", []column{{key: "name"}, {key: "workloads"}, {key: "reconciler"}, {key: "labels", fit: display.Shorten}, {key: "namespaceService", wide: true}, {key: "configType", wide: true}},
		func(m *model.Model, plan *schedule.Plan) (rows [][]any) {
			for i, c := range m.ClusterTypes {
				rows = append(rows, []any{c.Name, plan.Targets(i).Len(), c.Reconciler, c.Labels, c.NamespaceService, c.ConfigType})
			}
			return rows
		}},
	{[]string{"workloads", "workload", "targets"}, "", []column{{key: "name"}, {key: "workload"}, {key: "workspace"}, {key: "clusters"}, {key: "labels", wide: true, fit: display.Shorten}, {key: "manifests", wide: true, fit: display.Shorten}},
		func(m *model.Model, plan *schedule.Plan) (rows [][]any) {
			for i, t := range m.Targets {
				clusters := 0
				for c := range m.ClusterTypes {
					if plan.Targets(c).Has(i) {
						clusters++
					}
				}
				rows = append(rows, []any{t.Name, t.Workload, t.Workspace, clusters, t.Labels, t.Manifests})
			}
			return rows
		}},
	{[]string{"assignments", "assignment"}, "", []column{{key: "name"}, {key: "cluster"}, {key: "target"}, {key: "workload", wide: true}, {key: "workspace", wide: true}},
		func(m *model.Model, plan *schedule.Plan) (rows [][]any) {
			for a := range plan.All() {
				rows = append(rows, []any{a.ClusterType.Name + "/" + a.Target.Name, a.ClusterType.Name, a.Target.Name, a.Target.Workload, a.Target.Workspace})
			}
			return rows
		}},
	{[]string{"policies", "policy"}, "SchedulingPolicy/", []column{{key: "name"}, {key: "clusters"}, {key: "targets"}, {key: "workspace"}, {key: "clusterSelector", wide: true, fit: display.Shorten}, {key: "targetSelector", wide: true, fit: display.Shorten}},
		func(m *model.Model, plan *schedule.Plan) (rows [][]any) {
			for i, p := range m.Policies {
				clusters, targets := plan.Selected(i)
				rows = append(rows, []any{p.Name, clusters.Len(), targets.Len(), p.Workspace, p.ClusterTypes.String(), p.Targets.String()})
			}
			return rows
		}},
}

func newGet(a *app) *cobra.Command {
	g := &getCommand{app: a}
	c := &cobra.Command{
		Use:     "get environments|clusters|workloads|assignments|policies",
		GroupID: groupMain,
		Short:   "List what a control plane holds",
		Long: `Get lists the environments of a control plane, or of its environments (or the one named
with -e) the cluster types, the deployment targets of workloads, the assignments, or the
scheduling policies. It reads what is committed, and renders nothing.

--output wide has more columns, and --output name the names alone, as fairlead explain takes
them: those of several environments begin with their environment.`,
		Example: `  fairlead get environments
  fairlead get assignments -e dev
  fairlead get clusters -e prod -o wide`,
		Args:      checkArguments(1, 1),
		ValidArgs: []string{"environments"},
		RunE:      func(c *cobra.Command, args []string) error { return g.runGet(c.Context(), args[0]) },
	}
	for _, k := range listedKinds {
		c.ValidArgs = append(c.ValidArgs, k.names[0])
	}
	g.input.addEnvironmentFlag(c, "all")
	a.addOutputFlag(c)
	g.input.addInputFlags(c)
	return c
}

func (g *getCommand) runGet(ctx context.Context, what string) error {
	i := slices.IndexFunc(listedKinds, func(k kindOfListing) bool { return slices.Contains(k.names, what) })
	if i < 0 && !slices.Contains([]string{"environments", "environment", "envs"}, what) {
		known := []string{"environments"}
		for _, k := range listedKinds {
			known = append(known, k.names[0])
		}
		return newUnknownError("kind", what, known)
	}
	if err := g.input.openSource(ctx); err != nil {
		return err
	}
	names, err := g.input.selectEnvironments(ctx)
	if err != nil {
		return err
	}
	if i < 0 {
		return g.listEnvironments(ctx, names)
	}
	l := listing{columns: append([]column{{key: "environment"}}, listedKinds[i].columns...)}
	err = g.input.forEachEnvironment(names, "read", func(name string) error {
		m, problems, err := g.input.source.LoadModel(ctx, name, source.Revisions{})
		switch {
		case err != nil:
			return err
		case m == nil:
			return newProblemsError(problems)
		}
		for _, row := range listedKinds[i].rows(m, schedule.NewPlan(m, nil)) {
			l.rows = append(l.rows, append([]any{name}, row...))
			l.names = append(l.names, listedKinds[i].objectName(name, row, len(names) > 1))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return g.app.printListing(l)
}

func (g *getCommand) listEnvironments(ctx context.Context, names []string) error {
	base, err := g.input.source.Base(ctx)
	if err != nil {
		return err
	}
	chain, _ := model.NewChain(base.Progress, base.Environments, nil) // check reports its problems
	l := listing{columns: []column{{key: "name"}, {key: "after"}, {key: "branch"}, {key: "path", wide: true}, {key: "repo", wide: true}}}
	for _, name := range names {
		row := []any{name, []string{}, "", "", ""}
		if stage := chain.Stage(name); stage != nil && stage.After != nil {
			row[1] = stage.After
		}
		for _, e := range base.Environments {
			if e.Name == name {
				row[2], row[3], row[4] = e.ControlPlane.Branch, e.ControlPlane.Path, e.ControlPlane.Repo
			}
		}
		l.rows = append(l.rows, row)
	}
	return g.app.printListing(l)
}

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// column is a column of a listing: its key in JSON, and whether only wide listings show it. The heading
// is the key in capitals.
type column struct {
	key  string
	wide bool
}

// listing is a table for people, and a list of objects for programs. Its first column that is called
// name, or else the first one, names a row.
type listing struct {
	columns []column
	rows    [][]any
}

// printListing prints a listing in the format of --output.
func (a *app) printListing(l listing) error {
	if a.format == "json" || a.format == "yaml" {
		objects := []map[string]any{}
		for _, row := range l.rows {
			object := map[string]any{}
			for i, c := range l.columns {
				object[c.key] = row[i]
			}
			objects = append(objects, object)
		}
		return a.printValue(objects, nil)
	}
	_, err := fmt.Fprint(a.stdout, l.tableText(a.format))
	return err
}

// tableText returns the listing as text, wide, or names alone.
func (l listing) tableText(format string) string {
	name := max(0, slices.IndexFunc(l.columns, func(c column) bool { return c.key == "name" }))
	shown := func(i int) bool {
		return format == "name" && i == name || format != "name" && (format == "wide" || !l.columns[i].wide)
	}
	var rows [][]string
	if format != "name" {
		rows = append(rows, nil)
		for i, c := range l.columns {
			if shown(i) {
				rows[0] = append(rows[0], heading(c.key))
			}
		}
	}
	for _, row := range l.rows {
		var cells []string
		for i, value := range row {
			if shown(i) {
				cells = append(cells, cellText(value))
			}
		}
		rows = append(rows, cells)
	}
	return display.FormatTable(rows)
}

// heading returns the heading of a column: "clusterTypes" is "CLUSTER TYPES".
func heading(key string) string {
	var b strings.Builder
	for _, r := range key {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

func cellText(value any) string {
	cell := ""
	switch v := value.(type) {
	case map[string]string:
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !strings.HasPrefix(key, "kustomize.toolkit.fluxcd.io/") { // Flux gives them to all
				pairs = append(pairs, key+"="+v[key])
			}
		}
		cell = strings.Join(pairs, ",")
	case []string:
		cell = strings.Join(v, ",")
	default:
		cell = fmt.Sprint(v)
	}
	if cell == "" {
		return "-"
	}
	return cell
}

// getCommand is `fairlead get`.
type getCommand struct {
	app   *app
	input input
}

// kindOfListing is what get lists of an environment.
type kindOfListing struct {
	names   []string // the first one is the one in the help
	columns []column
	rows    func(m *model.Model, plan *schedule.Plan) [][]any // without the environment
}

var listedKinds = []kindOfListing{
	{[]string{"clusters", "cluster", "clustertypes"}, []column{{"name", false}, {"workloads", false}, {"reconciler", false}, {"labels", false}, {"namespaceService", true}, {"configType", true}},
		func(m *model.Model, plan *schedule.Plan) (rows [][]any) {
			for i, c := range m.ClusterTypes {
				rows = append(rows, []any{c.Name, plan.Targets(i).Len(), c.Reconciler, c.Labels, c.NamespaceService, c.ConfigType})
			}
			return rows
		}},
	{[]string{"workloads", "workload", "targets"}, []column{{"name", false}, {"workload", false}, {"workspace", false}, {"clusters", false}, {"labels", true}, {"manifests", true}},
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
	{[]string{"assignments", "assignment"}, []column{{"name", false}, {"cluster", false}, {"target", false}, {"workload", true}, {"workspace", true}},
		func(m *model.Model, plan *schedule.Plan) (rows [][]any) {
			for a := range plan.All() {
				rows = append(rows, []any{a.ClusterType.Name + "/" + a.Target.Name, a.ClusterType.Name, a.Target.Name, a.Target.Workload, a.Target.Workspace})
			}
			return rows
		}},
	{[]string{"policies", "policy"}, []column{{"name", false}, {"clusters", false}, {"targets", false}, {"workspace", false}, {"clusterSelector", true}, {"targetSelector", true}},
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

--output wide has more columns, and --output name the names alone, for scripts.`,
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
	a.addOutputFlag(c, "wide", "name")
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
	l := listing{columns: append([]column{{"environment", false}}, listedKinds[i].columns...)}
	for _, name := range names {
		m, problems, err := g.input.source.LoadModel(ctx, name, source.Revisions{})
		switch {
		case err != nil:
			return err
		case m == nil:
			return newProblemsError(problems)
		}
		for _, row := range listedKinds[i].rows(m, schedule.NewPlan(m, nil)) {
			l.rows = append(l.rows, append([]any{name}, row...))
		}
	}
	return g.app.printListing(l)
}

// listEnvironments lists the environments in the order of promotion.
func (g *getCommand) listEnvironments(ctx context.Context, names []string) error {
	base, err := g.input.source.Base(ctx)
	if err != nil {
		return err
	}
	chain, _ := model.NewChain(base.Progress, base.Environments, nil) // problems with it are reported by check
	l := listing{columns: []column{{"name", false}, {"after", false}, {"branch", false}, {"path", true}, {"repo", true}}}
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

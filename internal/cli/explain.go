package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type explainCommand struct {
	app   *app
	input input
	from  string // start of a plan for clusters
	// inside also looks into the sources of an assignment.
	inside bool
}

func newExplain(a *app) *cobra.Command {
	e := &explainCommand{app: a}
	c := &cobra.Command{
		Use:     "explain ASSIGNMENT|CLUSTER-TYPE|WORKLOAD|FILE|KIND/NAME",
		GroupID: groupMain,
		Short:   "Say why something is, or is not, where it is",
		Long: `Explain answers why, in one environment:
  CLUSTER-TYPE/TARGET       an assignment: the policies that chose it, or the label that
                            kept it out; for every value the configs that set it
  CLUSTER-TYPE/TARGET/FILE  a rendered file: its template, and the objects that it read
                            so too a file of a stack, by its path in the output
  TEAM/STACK                a stack: its components, in which order, and what protects it;
                            TEAM/STACK/COMPONENT what a component is made from
  CLUSTER-TYPE              what is on it
  WORKLOAD or TARGET        where it goes
  KIND/NAME                 a policy, a config, a schema, a template, a stack (Environment),
                            a Team, the StackSettings, or one of the above
  InputManifest/MANIFEST    the clusters and node pools of a manifest, and the steps of its plan
  NodePool/MANIFEST/POOL    where the fields of a node pool are written, what uses it, and
                            the steps of the plan that are about it
  Step/ID                   a step of the plan for clusters: why it is there, why in this
                            order, and what blocks it; Step/MANIFEST/ID if others have the ID

A plan leads from --from, or with --worktree from what is checked out, to the environment;
without both, it leads from the clusters that the output has. fairlead cluster plan --output name prints the ids.

fairlead explain promotion ENVIRONMENT answers why a commit is, or is not, where it is;
what is itself named promotion is asked for as KIND/NAME.

Instead of -e ENVIRONMENT, the name may begin with ENVIRONMENT/, as fairlead get -o name
prints it. It answers from what can be read, even if the control plane has problems.`,
		Example: `  fairlead explain -e dev large/observability-prometheus
  fairlead explain -e dev large/observability-prometheus/platform-config.yaml
  fairlead explain -e dev SchedulingPolicy/checkout-policy
  fairlead explain -e dev NodePool/fleet/edge/workers
  fairlead explain -e dev --worktree Step/edge-one/add-nodes/compute/workers-v2`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: e.completeObjects,
		RunE:              func(c *cobra.Command, args []string) error { return e.runExplain(c.Context(), args[0]) },
	}
	e.input.addEnvironmentFlag(c, "the only one there is")
	e.app.addOutputFlag(c)
	c.Flags().BoolVar(&e.inside, "inside", false, "of an assignment, fetch the commits, charts and artifacts of its sources, and list their objects")
	e.input.addInputFlags(c)
	c.Flags().StringVar(&e.from, "from", "", "what a plan for clusters begins with: a `revision`, or a checkout of the GitOps repository, as fairlead diff takes it")
	c.AddCommand(newExplainPromotion(a))
	return c
}

func (e *explainCommand) completeObjects(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	e.input.stderr = func() io.Writer { return io.Discard } // the shell would show it in the typed line
	if len(args) > 0 || e.input.openSource(c.Context()) != nil {
		return nil, completedInOrder
	}
	names, err := e.input.selectEnvironments(c.Context())
	if err != nil {
		return nil, completedInOrder
	}
	name, _, chosen := strings.Cut(begun, "/")
	switch {
	case len(names) == 1:
		name = names[0]
	case !chosen || !slices.Contains(names, name):
		return list.Convert(names, func(name string) string { return name + "/" }), completedInOrder | cobra.ShellCompDirectiveNoSpace
	}
	m, _, err := e.input.source.LoadModel(c.Context(), name, source.Revisions{})
	if err != nil || m == nil {
		return nil, completedInOrder
	}
	var found []string
	for _, kind := range listedKinds {
		for _, row := range kind.rows(m, schedule.NewPlan(m, nil)) {
			found = append(found, kind.objectName(name, row, len(names) > 1))
		}
	}
	return found, completedInOrder
}

func (e *explainCommand) runExplain(ctx context.Context, query string) error {
	written := e.input
	if err := e.input.openSource(ctx); err != nil {
		return err
	}
	names, err := e.input.selectEnvironments(ctx)
	if err != nil {
		return err
	}
	name := names[0]
	if len(names) > 1 { // the query may start with its environment, as get --output name prints it
		environment, rest, _ := strings.Cut(query, "/")
		if !slices.Contains(names, environment) || rest == "" {
			return newAmbiguityError(names)
		}
		name, query = environment, rest
	}
	r, err := e.input.renderEnvironment(ctx, name, source.Revisions{}, nil)
	if err != nil {
		return err
	}
	if problems, _ := r.Problems.Count(); problems > 0 {
		fmt.Fprintf(e.app.stderr, "fairlead: %s%s has %s, which fairlead check names; the answer is from what could be read\n",
			e.app.stderr.Paint(display.Yellow, "warning: "), name, text.Count(problems, "problem"))
	}
	o := explain.Options{Rendering: e.input.options.Rendering, Environment: name}
	if kind, _, _ := strings.Cut(query, "/"); !r.Model.Clusters.IsEmpty() || kind == "NodePool" || kind == "Step" {
		o.Clusters, err = e.findClusters(ctx, r.Model, written)
		if err != nil {
			return err
		}
	}
	branch, err := e.input.source.Branch(ctx, name)
	if err != nil {
		return err
	}
	o.PlacedSince, o.ChangedLast = source.PlacedSince(branch), source.ChangedLast(branch)
	answer, err := explain.AnswerQuery(r.Model, query, o)
	if err != nil {
		return err
	}
	if e.inside {
		err := e.addSources(ctx, answer.Assignment, r)
		if err != nil {
			return err
		}
	}
	return e.app.printValue(answer, []string{answer.Query}, answer.Text)
}

func (e *explainCommand) addSources(ctx context.Context, a *explain.Assignment, r source.Rendered) (err error) {
	switch {
	case a == nil:
		return usageErrorf("as in fairlead explain --inside -e dev large/checkout-api", "--inside is for assignments")
	case r.Problems.StopsEnvironment():
		return &problemsError{summary: "problems stop the environment, so that nothing is rendered to look into"}
	}
	a.Sources, err = e.input.findHeld(ctx, r.Tree.Sub(a.ClusterType.Name+"/"+a.Target.Name))
	return err
}

// findClusters returns the start of a plan: flags, else the output. written is the
// input before it was opened.
func (e *explainCommand) findClusters(ctx context.Context, m *model.Model, written input) (func() []provision.State, error) {
	d := diffCommand{app: e.app, input: written}
	var args []string
	if e.from != "" {
		args = append(args, e.from)
	}
	args, err := d.withWorktree(ctx, args)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return func() []provision.State { return e.readOutputClusters(ctx, m) }, nil
	}
	sides, err := d.openSides(ctx, args[0], args[0])
	if err != nil {
		return nil, err
	}
	r, err := d.readSide(ctx, m.Environment, sides[0], nil)
	if err != nil {
		return nil, err
	}
	if r.Model == nil {
		return func() []provision.State { return clusterfiles.ReadStates(r.Tree) }, nil
	}
	return func() []provision.State { return provision.NewStates(r.Model) }, nil
}

func (e *explainCommand) readOutputClusters(ctx context.Context, m *model.Model) []provision.State {
	lists := clusterListCommand{commandContext: newCommandContext(e.app), input: e.input}
	manifests, err := lists.readOutputManifests(ctx, m)
	if err != nil {
		fmt.Fprintf(e.app.stderr, "fairlead: note: the plan begins without clusters, because the output cannot be read: %s\n", display.SanitizeLine(err.Error()))
	}
	var all []provision.State
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		if is := manifests[name]; is.Edited == nil {
			all = append(all, is.State.WithoutRemoval())
		}
	}
	return all
}

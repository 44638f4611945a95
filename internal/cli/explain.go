package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// explainCommand is `fairlead explain`.
type explainCommand struct {
	app   *app
	input input
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
  CLUSTER-TYPE              what is on it
  WORKLOAD or TARGET        where it goes
  KIND/NAME                 a policy, a config, a schema, a template, or one of the above

fairlead explain promotion ENVIRONMENT answers why a commit is, or is not, where it is;
what is itself named promotion is asked for as KIND/NAME.

It answers from what can be read, even if the control plane has problems.`,
		Example: `  fairlead explain -e dev large/observability-prometheus
  fairlead explain -e dev large/observability-prometheus/platform-config.yaml
  fairlead explain -e dev SchedulingPolicy/checkout-policy`,
		Args:              checkArguments(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, args []string) error { return e.runExplain(c.Context(), args[0]) },
	}
	e.input.addEnvironmentFlag(c, "the only one there is")
	e.app.addOutputFlag(c)
	e.input.addInputFlags(c)
	c.AddCommand(newExplainPromotion(a))
	return c
}

func (e *explainCommand) runExplain(ctx context.Context, query string) error {
	if err := e.input.openSource(ctx); err != nil {
		return err
	}
	name, err := e.input.selectEnvironment(ctx)
	if err != nil {
		return err
	}
	r, err := e.input.renderEnvironment(ctx, name, source.Revisions{})
	if err != nil {
		return err
	}
	if problems, _ := r.Problems.Count(); problems > 0 {
		fmt.Fprintf(e.app.stderr, "fairlead: %s%s has %s, which fairlead check names; the answer is from what could be read\n",
			e.app.stderr.Paint(display.Yellow, "warning: "), name, display.Plural(problems, "problem"))
	}
	answer, err := explain.AnswerQuery(r.Model, query, e.input.options.Rendering)
	if err != nil {
		return err
	}
	return e.app.printValue(answer, answer.Text)
}

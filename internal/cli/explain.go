package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/explain"
	"github.com/fairlead-io/fairlead/internal/source"
)

// explainCommand is what `fairlead explain` was asked to do.
type explainCommand struct {
	*app
	input
}

func newExplain(a *app) *cobra.Command {
	e := &explainCommand{app: a}
	c := &cobra.Command{
		Use:   "explain ASSIGNMENT|CLUSTER-TYPE|WORKLOAD|FILE",
		Short: "Say why something is, or is not, where it is",
		Long: `Explain answers why: for an assignment (<cluster type>/<deployment target>) the
policies that chose it, or the label that kept it out, and for every value the configs
that set it; for a cluster type what is on it; for a workload or deployment target
where it goes; for a rendered file its template and the objects that it read. A policy,
a config or a template (Kind/name) is explained too.`,
		Example: `  fairlead explain -e dev large/observability-prometheus
  fairlead explain -e dev large/observability-prometheus/platform-config.yaml
  fairlead explain -e dev SchedulingPolicy/observability-policy`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return e.run(c.Context(), args[0]) },
	}
	e.addFlags(c)
	_ = c.RegisterFlagCompletionFunc("environment", e.completeEnvironments)
	return c
}

// run answers from the model. It does so even if the control plane has problems,
// as far as what could be read goes: that is when people ask.
func (e *explainCommand) run(ctx context.Context, query string) error {
	if err := e.checkFormat(); err != nil {
		return err
	}
	if err := e.open(ctx); err != nil {
		return err
	}
	name, err := e.one(ctx)
	if err != nil {
		return err
	}
	r, err := e.render(ctx, name, source.Revisions{})
	if err != nil {
		return fmt.Errorf("read environment %s: %w", name, err)
	}
	if problems, _ := r.problems.Count(); problems > 0 {
		fmt.Fprintf(e.err, "fairlead: warning: %s has %s (fairlead check names them); the answer is from what could be read\n",
			name, plural(problems, "problem"))
	}
	answer, err := explain.Find(r.model, query)
	if err != nil {
		return err
	}
	return e.print(answer, answer.Text)
}

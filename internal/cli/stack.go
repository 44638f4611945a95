package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type stackCommand struct {
	*commandContext
	input input
}

func newStack(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "stack",
		GroupID: groupMain,
		Short:   "List, show, draw, plan, clone, pin and tear down the stacks of environments",
		Long: `A stack is Terraform modules and Helm charts that depend on each other: what CloudKnit calls
an environment. These commands render what is committed, and show what the output does with
the components, but not the stacks whose files were deleted. STATUS is what clusters report
of the components, to the daemon or the ledger that fairlead.yaml here or --url names.`,
		Example: `  fairlead stack list
  fairlead stack show checkout/dev -e dev
  fairlead stack graph checkout/dev -e dev --output mermaid
  fairlead stack plan checkout/dev dev dev@my-change
  fairlead stack clone prod checkout/prod-blue checkout/prod-green --set zlocals.cidr=10.2.0.0/16
  fairlead stack teardown prod checkout/prod-blue`,
		Args: checkSubcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, sub := range []struct {
		command *cobra.Command
		run     func(ctx context.Context, s *stackCommand, args []string) error
		formats []string
	}{
		{&cobra.Command{Use: "list", Short: "List the stacks", Args: checkArguments(0, 0)}, listStacks, nil},
		{&cobra.Command{Use: "show TEAM/STACK", Short: "Show the components of a stack, with their plans and status", Args: checkArguments(1, 1)}, showStack, nil},
		{&cobra.Command{Use: "graph TEAM/STACK", Short: "Draw the order of the components of a stack", Args: checkArguments(1, 1)}, drawStack, []string{"mermaid", "dot"}},
	} {
		s := &stackCommand{commandContext: newCommandContext(a)}
		sub.command.RunE = func(c *cobra.Command, args []string) error { return sub.run(c.Context(), s, args) }
		s.input.addEnvironmentFlag(sub.command, "all")
		s.addReportFlags(sub.command)
		a.addOutputFlag(sub.command, sub.formats...)
		s.input.addInputFlags(sub.command)
		c.AddCommand(sub.command)
	}
	c.AddCommand(newStackPlan(a), newStackClone(newCommandContext(a)), newStackTeardown(newCommandContext(a)), newStackPin(newCommandContext(a)))
	return c
}

// environmentStack is a stack, the environment that it is in, and where the output of that is; nil if that does not
// matter.
type environmentStack struct {
	stackview.Stack
	output *model.GitOpsRepo
}

func newEnvironmentStack(environment string, s stackfiles.Summary) environmentStack {
	return environmentStack{Stack: stackview.Stack{Environment: environment, Summary: s}}
}

func (s *stackCommand) readStacks(ctx context.Context) ([]environmentStack, error) {
	if err := s.input.openSource(ctx); err != nil {
		return nil, err
	}
	names, err := s.input.selectEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	across := acrossCheck{app: s.app, input: &s.input}
	var rendered []source.Rendered
	for _, name := range names {
		r, err := s.input.renderEnvironment(ctx, name, source.Revisions{}, nil)
		if err == nil {
			r, err = across.keepStates(ctx, r)
		}
		if err != nil {
			return nil, err
		}
		if r.Problems.StopsEnvironment() {
			return nil, newProblemsError(r.Problems)
		}
		rendered = append(rendered, r)
	}
	shared, err := across.check(ctx, list.Convert(rendered, func(r source.Rendered) *model.Model { return r.Model })...)
	if err != nil {
		return nil, err
	}
	var all []environmentStack
	for _, r := range rendered {
		name := r.Environment
		r, err = r.StopStacks(shared[name])
		if err != nil {
			return nil, err
		}
		stacks, err := stackview.ListStacks(name, r.Tree, r.Problems)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Convert(stacks, func(one stackview.Stack) environmentStack { return environmentStack{one, r.Model.OutputRepo()} })...)
	}
	return all, nil
}

func listStacks(ctx context.Context, s *stackCommand, _ []string) error {
	all, err := s.readStacks(ctx)
	if err != nil {
		return err
	}
	statuses, err := s.readStackStatuses(ctx, all)
	if err != nil {
		return err
	}
	l := listing{
		columns: []column{{key: "environment"}, {key: "stack"}, {key: "components"}, {key: "teardown"}, {key: "namespace", wide: true}},
		names:   list.Convert(all, func(one environmentStack) string { return one.Summary.Stack }),
		empty:   "there are no stacks\n",
	}
	for _, one := range all {
		l.rows = append(l.rows, []any{one.Environment, one.Summary.Stack, len(one.Components), one.Teardown, one.Namespace})
	}
	if slices.ContainsFunc(all, func(one environmentStack) bool { return one.Blueprint != "" }) {
		l.columns = append(l.columns, column{key: "active"})
		for i, one := range all {
			l.rows[i] = append(l.rows[i], one.Active)
		}
	}
	if slices.ContainsFunc(all, func(one environmentStack) bool { return one.Stopped != "" }) {
		l.columns = append(l.columns, column{key: "stopped", fit: display.Wrap})
		for i, one := range all {
			l.rows[i] = append(l.rows[i], one.Stopped)
		}
	}
	if statuses != nil {
		l.columns = append(l.columns, column{key: "status"})
		for i, one := range all {
			l.rows[i] = append(l.rows[i], statuses.summarize(one))
		}
	}
	return s.app.printListing(l)
}

func (s *stackCommand) findStack(ctx context.Context, name string) (environmentStack, error) {
	all, err := s.readStacks(ctx)
	if err != nil {
		return environmentStack{}, err
	}
	var found []environmentStack
	for _, one := range all {
		if one.Summary.Stack == name {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return environmentStack{}, newUnknownError("stack", name, list.Convert(all, func(one environmentStack) string { return one.Summary.Stack }))
	case 1:
		if found[0].Stopped != "" {
			return environmentStack{}, &problemsError{summary: "the stack " + name + " is stopped by " + display.CountProblems(found[0].Problems.Count()) + "; its output stays as it is", list: found[0].Problems}
		}
		return found[0], nil
	}
	environments := list.Convert(found, func(one environmentStack) string { return one.Environment })
	return environmentStack{}, usageErrorf("name one with -e", "the stack %s is in the environments %s", name, strings.Join(environments, ", "))
}

func showStack(ctx context.Context, s *stackCommand, args []string) error {
	one, err := s.findStack(ctx, args[0])
	if err != nil {
		return err
	}
	statuses, err := s.readStackStatuses(ctx, []environmentStack{one})
	if err != nil {
		return err
	}
	shown := newShownStack(one, statuses)
	var sent sentPlans
	if statuses != nil {
		sent, err = readSentPlans(ctx, s.commandContext, one.Environment, one.Summary.Stack)
		if err != nil {
			fmt.Fprintf(s.app.stderr, "fairlead: note: what plans do is not known: %v\n", err)
		}
	}
	var planned []*tfplan.Counts
	planned, shown.Planned = sent.selectPlans(one.Components)
	for i, counts := range planned {
		shown.Components[i].Planned = counts
	}
	l := listing{
		columns: []column{{key: "name"}, {key: "type"}, {key: "after"}, {key: "action"}, {key: "approval"}, {key: "inputs"}, {key: "plan", wide: true}, {key: "protected", wide: true}},
		value:   shown,
	}
	if one.Blueprint != "" {
		l.above = fmt.Sprintf("%s of the blueprint %s; active: %v\n\n", one.Summary.Stack, one.Blueprint, one.Active)
	}
	for _, c := range one.Components {
		l.rows = append(l.rows, []any{c.Name, c.Type, c.After, string(c.Action), c.Approval, c.Inputs, c.Plan, c.Protected})
	}
	if statuses != nil {
		l.columns = append(l.columns, column{key: "status"}, column{key: "cluster", wide: true}, column{key: "message", wide: true, fit: display.Wrap})
		for i, c := range one.Components {
			status := statuses[one.key(c)]
			l.rows[i] = append(l.rows[i], status.Status, status.Cluster, status.Message)
			if status.Status == stackview.Waits && c.Approval == "" {
				digest := ""
				if c.Compared {
					digest = "DIGEST"
				}
				l.below += "  " + display.SanitizeLine(approvalCommand(one.Environment, one.Summary.Stack+"/"+c.Name, c.Inputs, digest)) + "\n"
			}
		}
	}
	l.addPlanned(planned, shown.Planned)
	if l.below != "" {
		l.below = "\nTo approve a plan that you have read, with fairlead stack plan --plans or on the page:\n" + l.below
	}
	return s.app.printListing(l)
}

func drawStack(ctx context.Context, s *stackCommand, args []string) error {
	one, err := s.findStack(ctx, args[0])
	if err != nil {
		return err
	}
	label, status, err := s.findLabels(ctx, one)
	if err != nil {
		return err
	}
	names := list.Convert(one.Components, func(c stackfiles.ComponentSummary) string { return c.Name })
	return s.app.printValue(one, names, func() string {
		switch s.app.format {
		case "mermaid":
			return one.MermaidGraph(label)
		case "dot":
			return one.dotText(label)
		}
		return one.graphText(status)
	})
}

// findLabels returns the label of a component in a graph, and its status behind a colon. A graph is of the order: it has the
// status, or else "" for that, only if --url or --config says whom to ask.
func (s *stackCommand) findLabels(ctx context.Context, of environmentStack) (label, status func(stackfiles.ComponentSummary) string, err error) {
	status = func(stackfiles.ComponentSummary) string { return "" }
	if s.daemonURL != "" || s.settingsFile != "" {
		statuses, err := s.readStackStatuses(ctx, []environmentStack{of})
		if err != nil {
			return nil, nil, err
		}
		status = func(c stackfiles.ComponentSummary) string {
			return ": " + cmp.Or(statuses[of.key(c)].Status, stackview.NotReported)
		}
	}
	return func(c stackfiles.ComponentSummary) string { return labelOf(c) + status(c) }, status, nil
}

// graphText returns a line for each component, in an order in which they can be made.
func (e environmentStack) graphText(status func(stackfiles.ComponentSummary) string) string {
	var b strings.Builder
	for _, c := range e.Components {
		b.WriteString(labelOf(c))
		if len(c.After) > 0 {
			b.WriteString(" after " + strings.Join(c.After, ", "))
		}
		b.WriteString(status(c) + "\n")
	}
	return b.String()
}

func (e environmentStack) dotText(label func(stackfiles.ComponentSummary) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n", e.Summary.Stack)
	for _, c := range e.Components {
		fmt.Fprintf(&b, "  %q [label=%q];\n", c.Name, label(c))
	}
	for _, c := range e.Components {
		for _, before := range c.After {
			fmt.Fprintf(&b, "  %q -> %q;\n", before, c.Name)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func labelOf(c stackfiles.ComponentSummary) string {
	if c.Action == stackfiles.Apply {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Name, c.Action)
}

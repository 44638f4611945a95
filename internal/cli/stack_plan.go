package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

type stackPlanCommand struct {
	diffCommand
	asked     *commandContext
	plansFile string // "" for none, "-" for standard input
	stdin     io.Reader
}

func newStackPlan(a *app) *cobra.Command {
	p := &stackPlanCommand{diffCommand: diffCommand{app: a}, asked: newCommandContext(a)}
	c := &cobra.Command{
		Use:   "plan TEAM/STACK A B",
		Short: "Show what clusters do with a stack when A becomes B",
		Long: `Plan renders a stack at A and at B, and shows for each component what a cluster does next when
A becomes B: whether it makes a plan to apply or to destroy, installs, upgrades or uninstalls a
chart, or leaves what the component made; and which plans wait for approval. A and B are what
fairlead diff takes. A stack that A has no file of, and that the output still destroys, is compared
with the output.

Only Terraform knows what a plan holds. --plans shows the plans that tofu-controller has made,
next to the components that they are of, with the commands that approve those that wait. Plans that
are compared before they are applied are in Secrets, and are approved by their digest too.

--url and --config ask the daemon for the plans of B that clusters have sent and not yet applied:
what they add, change and destroy, and what they cost.`,
		Example: `  fairlead stack plan checkout/dev dev dev@my-change
  fairlead stack plan checkout/dev -e dev --worktree
  kubectl get configmap,secret -A -l infra.contrib.fluxcd.io/plan-name -o yaml |
    fairlead stack plan checkout/dev dev~1 dev --plans -`,
		RunE: func(c *cobra.Command, args []string) error {
			p.stdin = c.InOrStdin()
			if slices.Contains(args, "") {
				return usageErrorf("dev~1 is one", "an argument is empty")
			}
			sides, err := p.withWorktree(c.Context(), args[1:])
			if err != nil {
				return err
			}
			return p.run(c.Context(), args[0], sides[0], sides[1])
		},
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if p.input.worktree {
			return checkArguments(1, 2)(c, args)
		}
		return checkArguments(3, 3)(c, args)
	}
	p.input.addEnvironmentFlag(c, "the one that has the stack")
	addPlansFlag(c, &p.plansFile)
	p.asked.addReportFlags(c)
	a.addOutputFlag(c)
	p.input.addInputFlags(c)
	return c
}

func addPlansFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "plans", "", "`file` with the ConfigMaps and Secrets in which tofu-controller keeps plans, as kubectl prints them in YAML; - for standard input")
}

// plannedStack is what clusters do with the stack of an environment.
type plannedStack struct {
	Environment string `json:"environment,omitempty"`
	Stack       string `json:"stack"`
	Namespace   string `json:"namespace"`

	Planned    *tfplan.Counts     `json:"planned,omitempty"` // of all components
	Components []plannedComponent `json:"components"`
}

// plannedComponent is what clusters do with a component, and what its plan holds as far as that is known.
type plannedComponent struct {
	impact.ComponentPlan
	Text   string `json:"text,omitempty"`   // of the plan, for people
	Digest string `json:"digest,omitempty"` // of the plan, by which it is approved
	// Planned is the effect of a plan that was sent to the daemon; nil if unknown.
	Planned *tfplan.Counts `json:"planned,omitempty"`
	// Earlier is the plan that Text is of, if that is not Plan.
	Earlier string `json:"earlierPlan,omitempty"`
	// approve is the command that approves Text; "" if it does not wait for approval.
	approve string
}

func (p *stackPlanCommand) run(ctx context.Context, stack, from, to string) error {
	plans, err := readPlans(p.plansFile, p.stdin)
	if err != nil {
		return err
	}
	sides, err := p.openSides(ctx, from, to)
	if err != nil {
		return err
	}
	p.noteBranches(ctx, sides)
	names, err := p.comparedEnvironments(sides)
	if err != nil {
		return err
	}
	var found []plannedStack
	var known []string
	err = p.input.forEachEnvironment(names, "plan", func(name string) error {
		both, err := p.renderSides(ctx, name, sides)
		if err != nil {
			return err
		}
		for _, r := range both {
			if r.Problems.StopsStack(stack) {
				return &problemsError{summary: fmt.Sprintf("the stack %s of %s cannot be planned: there are problems", stack, name)}
			}
			all, err := stackfiles.Summarize(r.Tree)
			if err != nil {
				return err
			}
			known = append(known, list.Convert(all, func(s stackfiles.Summary) string { return s.Stack })...)
		}
		plan, there, err := p.planStack(ctx, sides[0].in, stack, both)
		if there {
			found = append(found, newPlannedStack(name, plan, plans))
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		slices.Sort(known)
		return newUnknownError("stack", stack, slices.Compact(known))
	case len(found) > 1:
		environments := list.Convert(found, func(one plannedStack) string { return one.Environment })
		return usageErrorf("name one with -e", "the stack %s is in the environments %s", stack, text.Join(environments, " and "))
	}
	if p.plansFile != "" && !slices.ContainsFunc(found[0].Components, func(c plannedComponent) bool { return c.Text != "" }) {
		fmt.Fprintf(p.app.stderr, "fairlead: note: %s has no plan of %s\n", display.SanitizeLine(p.plansFile), stack)
	}
	if p.asked.daemonURL != "" || p.asked.settingsFile != "" {
		sent, err := readSentPlans(ctx, p.asked, found[0].Environment, stack)
		if err != nil {
			return err
		}
		found[0].addSent(sent)
	}
	return p.printPlan(found[0])
}

func (s *plannedStack) addSent(sent sentPlans) {
	each, sum := sent.selectPlans(list.Convert(s.Components, func(c plannedComponent) stackfiles.ComponentSummary {
		return stackfiles.ComponentSummary{Name: c.Name, Plan: c.Plan, Inputs: c.Inputs}
	}))
	s.Planned = sum
	for i, counts := range each {
		s.Components[i].Planned = counts
	}
}

// planStack returns what clusters do with a stack. One that the first side has no file of is compared with the output,
// if that destroys it: so does the pull request that takes the teardown back.
func (p *stackPlanCommand) planStack(ctx context.Context, in *input, stack string, both [2]source.Rendered) (impact.StackPlan, bool, error) {
	plan, there, err := impact.PlanStack(both[0].Tree, both[1].Tree, stack)
	team, env, _ := strings.Cut(stack, "/")
	isNew := there && !slices.ContainsFunc(plan.Components, func(c impact.ComponentPlan) bool { return c.Change != impact.ComponentAdded })
	if err != nil || !isNew || both[0].Model == nil {
		return plan, there, err
	}
	out, err := newCommandContext(p.app).fetchOutput(ctx, in, both[0].Model.OutputRepo())
	if err != nil {
		fmt.Fprintf(p.app.stderr, "fairlead: note: whether %s is being destroyed is not known, because the output cannot be read: %s\n", stack, display.SanitizeLine(err.Error()))
	}
	if err != nil || out == nil || out.head == "" {
		return plan, there, nil
	}
	plan, err = git.InspectTree(out.mirror, out.head, func(whole tree.Tree) (impact.StackPlan, error) {
		was := whole.Sub(publish.CleanFolder(out.to.Path))
		s, isThere, err := stackfiles.SummarizeStack(was, team, env)
		isDestroyed := slices.ContainsFunc(s.Components, func(c stackfiles.ComponentSummary) bool { return c.Action == stackfiles.Destroy })
		if err != nil || !isThere || !isDestroyed && !s.Deleted {
			return plan, err
		}
		fmt.Fprintf(p.app.stderr, "fairlead: note: %s is compared with the output, which destroys it\n", stack)
		again, _, err := impact.PlanStack(was, both[1].Tree, stack)
		return again, err
	})
	return plan, there, err
}

// maxPlans bounds, in bytes, the file of --plans.
const maxPlans = 64 << 20

// readPlans returns the plans in the file of --plans; "" for none, and "-" for standard input.
func readPlans(name string, stdin io.Reader) (stackfiles.ReadablePlans, error) {
	if name == "" {
		return nil, nil
	}
	data, err := readFileOrInput(name, stdin, maxPlans)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageErrorf("kubectl get configmap,secret -A -l infra.contrib.fluxcd.io/plan-name -o yaml prints what it has to hold", "--plans: %v", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the plans in %s: %w", name, err)
	}
	plans, err := stackfiles.ReadPlans(data)
	if err != nil {
		return nil, problem.WithHint(fmt.Errorf("read the plans in %s: %w", name, err),
			"kubectl get configmap,secret -A -l infra.contrib.fluxcd.io/plan-name -o yaml prints what it has to hold")
	}
	return plans, nil
}

func newPlannedStack(environment string, plan impact.StackPlan, plans stackfiles.ReadablePlans) plannedStack {
	s := plannedStack{Environment: environment, Stack: plan.Stack, Namespace: plan.Namespace, Components: []plannedComponent{}}
	for _, c := range plan.Components {
		one := newPlannedComponent(c, plans, stackfiles.ObjectName{Namespace: plan.Namespace, Name: c.Object})
		if c.Approval == "missing" && environment != "" && one.isCurrent() {
			one.approve = approvalCommand(environment, plan.Stack+"/"+c.Name, c.Inputs, one.Digest)
		}
		s.Components = append(s.Components, one)
	}
	return s
}

func newPlannedComponent(c impact.ComponentPlan, plans stackfiles.ReadablePlans, object stackfiles.ObjectName) plannedComponent {
	one := plannedComponent{ComponentPlan: c}
	made, known := plans[object]
	if known && c.Plan != "" {
		one.Text, one.Digest = made.Text, made.Digest
		if made.ID != c.Plan {
			one.Earlier = made.ID
		}
	}
	return one
}

func (c plannedComponent) isCurrent() bool { return c.Text != "" && c.Earlier == "" }

func (p *stackPlanCommand) printPlan(s plannedStack) error {
	l := listing{
		columns: []column{{key: "name"}, {key: "type"}, {key: "change"}, {key: "next"}, {key: "after"}, {key: "approval"}, {key: "inputs"}, {key: "plan", wide: true}},
		value:   s,
	}
	var below strings.Builder
	for _, c := range s.Components {
		l.rows = append(l.rows, []any{c.Name, c.Type, string(c.Change), string(c.Next), c.After, c.Approval, c.Inputs, c.Plan})
		below.WriteString(c.planText())
	}
	l.addPlanned(list.Convert(s.Components, func(c plannedComponent) *tfplan.Counts { return c.Planned }), s.Planned)
	for _, c := range s.Components {
		if c.Approval == "impossible" {
			below.WriteString("\n" + display.SanitizeLine(c.Name+": its plans cannot be approved, because its module has no version; write ?ref= and a version as v1.2.3, a whole commit or refs/tags/NAME behind its source, as fairlead stack pin does") + "\n")
		}
	}
	l.below = below.String()
	return p.app.printListing(l)
}

// planText returns what the plan of a component holds, for people; "" if that is not known.
func (c plannedComponent) planText() string {
	if c.Text == "" {
		return ""
	}
	heading := fmt.Sprintf("%s: %s", c.Name, c.Plan)
	if c.Earlier != "" {
		return "\n" + display.SanitizeLine(fmt.Sprintf("%s: %s is not made yet; the plan that there is, %s, was made before", c.Name, c.Plan, c.Earlier)) + "\n"
	}
	if c.Digest != "" {
		heading += "\ndigest " + c.Digest
	}
	below := ""
	if c.approve != "" {
		below = "\nTo approve this plan:\n  " + display.SanitizeLine(c.approve) + "\n"
	}
	return "\n" + display.SanitizeLines(heading) + "\n" + display.SanitizeLines(strings.Trim(c.Text, "\n")) + "\n" + below
}

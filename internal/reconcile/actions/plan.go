package actions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

type planSpec struct {
	Stack     string `yaml:"stack"`
	Component string `yaml:"component"`
	Plan      string `yaml:"plan"`
	Inputs    string `yaml:"inputs"`
	Output    string `yaml:"output"`
	Digest    string `yaml:"digest,omitempty"`
	Reason    string `yaml:"reason,omitempty"`
}

// ReadPlan is what a person knows of the plan that they have read.
type ReadPlan struct {
	Inputs string // what it was made from
	Digest string // of the plan; "" if plans are not compared, or Plans has it
	// Plans are what tofu-controller keeps, the plan among them; nil if that is not at hand. A pull
	// request shows it.
	Plans stackfiles.ReadablePlans
}

func (r ReadPlan) findPlan(c stackfiles.ComponentSummary, namespace string) (text, digest string, err error) {
	if r.Plans == nil {
		return "", r.Digest, nil
	}
	name := namespace + "/" + c.Object
	made, known := r.Plans[stackfiles.ObjectName{Namespace: namespace, Name: c.Object}]
	switch {
	case !known:
		return "", "", problem.Refusef("kubectl get configmap,secret -n "+namespace+" -l infra.contrib.fluxcd.io/plan-name -o yaml prints them", "there is no plan of the Terraform object %s among the plans", name)
	case made.ID != c.Plan:
		return "", "", problem.Refusef("read it again once the cluster has made "+c.Plan, "the plan of the Terraform object %s is %s, and the output has it make %s", name, made.ID, c.Plan)
	case r.Digest != "" && r.Digest != made.Digest:
		return "", "", problem.Refusef("read it again", "the plan of the Terraform object %s has the digest %s, and not %s", name, cmp.Or(made.Digest, "of no plan in JSON"), r.Digest)
	case !c.Compared:
		return made.Text, r.Digest, nil
	}
	return made.Text, made.Digest, nil
}

// ApprovePlan writes a person's approval of the plan that a component of a stack, or a part of a cluster,
// makes from inputs: those on the output branch, which clusters have. Whoever approves names the inputs of the plan that
// they have read; if the branch has others, the approval is refused.
func (d *Session) ApprovePlan(ctx context.Context, environment, stack, component string, read ReadPlan, reason string) (Result, error) {
	inputs := read.Inputs
	c, namespace, head, err := d.findPlan(ctx, environment, stack, component)
	if err != nil {
		return Result{}, err
	}
	what := fmt.Sprintf("the plan %s of %s/%s", c.Plan, stack, component)
	if err := checkApproval(c, what); err != nil {
		return Result{}, err
	}
	text, digest, err := read.findPlan(c, namespace)
	if err != nil {
		return Result{}, err
	}
	switch {
	case c.Inputs != inputs:
		return Result{}, problem.Refusef("read the plan that the component makes now: the annotation "+stackfiles.InputsAnnotation+" of its Terraform object names its inputs",
			"%s is made from the inputs %s, and not from %s", what, c.Inputs, inputs)
	case c.Compared && digest == "":
		return Result{}, problem.Refusef("read it with fairlead stack plan --plans, and add --digest with the digest that is shown, or --plans",
			"tofu-controller has %s compared before it applies it, and the digest of the plan that was read is missing", what)
	case !c.Compared && digest != "":
		return Result{}, problem.Refusef("set spec.plans.webhook of the StackSettings, or leave out --digest", "%s is not compared with a digest before it is applied", what)
	case c.Approval == c.Plan && c.Digest != digest:
		return Result{}, problem.Refusef("remove the approval, and read the plan that the component makes then",
			"%s was approved with the digest %s", what, c.Digest)
	}
	others, err := d.findPlanApprovals(ctx, environment, stack, component)
	if err != nil {
		return Result{}, err
	}
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		name := stackfiles.FlatName(stack + "/" + component)
		file := source.PlanFile(v.branch.Folder, name)
		done := change{
			action: approveAction, environment: environment, part: stack + "/" + component, reason: reason,
			shown: text, title: PlanTitle(environment, stack, component, c.Plan), notes: notesOf(c),
			summary: fmt.Sprintf("%s approves %s in %s, which is to %s", d.options.Author.Email, what, environment, c.Action),
		}
		for _, a := range others {
			switch {
			case string(a.Inputs) == inputs && string(a.Plan) == c.Plan && a.Digest == digest && (string(a.Output) == head || c.Approval == c.Plan):
				done.summary = what + " is approved already"
				return done, nil
			case a.Pos.File != file:
				return done, problem.Refusef("remove it", "there is an approval of another plan of %s/%s: PlanApproval/%s in %s", stack, component, a.Name, a.Pos.File)
			}
		}
		text, err := model.EncodeObject("PlanApproval", name, planSpec{stack, component, c.Plan, inputs, head, digest, reason})
		done.files = map[string][]byte{file: text}
		return done, err
	})
}

// replansNote is what a person has to know of an approval where plans are not compared before they are applied.
const replansNote = "tofu-controller plans again after the approval and applies that under the same id, drift included: set spec.plans.webhook of the StackSettings to have only the plan applied that was read"

func notesOf(c stackfiles.ComponentSummary) []string {
	if c.Compared {
		return nil
	}
	return []string{replansNote}
}

// CheckApproval refuses what ApprovePlan refuses of a component, whichever plan of it was read.
func (d *Session) CheckApproval(ctx context.Context, environment, stack, component string) error {
	c, _, _, err := d.findPlan(ctx, environment, stack, component)
	if err != nil {
		return err
	}
	return checkApproval(c, fmt.Sprintf("the plan %s of %s/%s", c.Plan, stack, component))
}

func checkApproval(c stackfiles.ComponentSummary, what string) error {
	switch {
	case c.Approval == "auto":
		return problem.Refusef("remove autoApprove of the component to approve its plans", "%s is approved without a person", what)
	case c.Unversioned && !c.Compared:
		return problem.Refusef("name the module with a version; fairlead stack pin does it for a stack", "%s cannot be approved: its module has no version, and may be another one when the plan is applied", what)
	}
	return nil
}

// PlanTitle returns the title of the commit that approves a plan.
func PlanTitle(environment, stack, component, plan string) string {
	return fmt.Sprintf("Approve the plan %s of %s/%s in %s", plan, stack, component, environment)
}

// mostNamed is how many components are named where one is not there.
const mostNamed = 5

// findPlan returns a component of a stack, or a part of a cluster, as the head of the output branch has it, with the namespace of
// its objects, and that commit.
func (d *Session) findPlan(ctx context.Context, environment, stack, component string) (found stackfiles.ComponentSummary, namespace, head string, err error) {
	var none stackfiles.ComponentSummary
	to, remote, err := d.fetchOutput(ctx, environment)
	if err != nil {
		return none, "", "", err
	}
	if to == nil {
		return none, "", "", problem.Refusef("", "%s has no output", environment)
	}
	head, err = remote.Mirror().Branch(to.Branch)
	if err != nil {
		return none, "", "", fmt.Errorf("read the output of %s: %w", environment, err)
	}
	output, err := remote.Mirror().View(head)
	if err != nil {
		return none, "", "", err
	}
	files := output.Tree.Sub(publish.CleanFolder(to.Path))
	all, err := clusterfiles.SummarizePlans(files)
	if failed := output.Err(); failed != nil {
		err = failed
	}
	if err != nil {
		return none, "", "", fmt.Errorf("read the output of %s: %w", environment, err)
	}
	var known []string
	for _, s := range all {
		for _, c := range s.Components {
			isMeant := s.Stack == stack && c.Name == component
			switch {
			case isMeant && c.Inputs != "":
				return c, s.Namespace, head, nil
			case isMeant:
				return none, "", "", problem.Refusef("", "the component %s/%s in %s is of type %s, and makes no plans", stack, component, environment, c.Type)
			case c.Inputs != "":
				known = append(known, s.Stack+"/"+c.Name)
			}
		}
	}
	hint := problem.DidYouMean(stack+"/"+component, known)
	if hint == "" && len(known) > 0 {
		hint = "it has " + text.Join(known[:min(len(known), mostNamed)], ", ")
		if more := len(known) - mostNamed; more > 0 {
			hint += fmt.Sprintf(" and %d more", more)
		}
	}
	return none, "", "", problem.Refusef(hint, "the output of %s, on the branch %s, has no component %s/%s with plans", environment, to.Branch, stack, component)
}

func (d *Session) findPlanApprovals(ctx context.Context, environment, stack, component string) ([]*model.PlanApproval, error) {
	m, err := d.loadSoundModel(ctx, environment, stack)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(m.Stacks.Approvals), func(a *model.PlanApproval) bool { return a.Stack != stack || a.Component != component }), nil
}

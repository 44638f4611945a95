package stackfiles

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// matchApprovals finds the component of each approval, and reports approvals of what is not there:
// they would approve it when it comes back.
func (r *renderer) matchApprovals(stacks []*stack.Stack) {
	r.approvals = map[*stack.Component]*model.PlanApproval{}
	for _, a := range r.model.Stacks.Approvals {
		c, known := findComponent(stacks, a.Stack, a.Component)
		switch other := r.approvals[c]; {
		case c == nil && !slices.ContainsFunc(stacks, func(s *stack.Stack) bool { return s.Path() == a.Stack }):
			warnOfDeleted(&r.problems, a)
		case c == nil:
			hint := cmp.Or(problem.DidYouMean(a.Stack+"/"+a.Component, known), "remove it")
			r.problems.Addf(a.Pos, a.Subject(), hint, "the plan is of the component %s of the stack %s, which is not in this environment", a.Component, a.Stack)
		case c.Type != stack.Terraform:
			r.problems.Addf(a.Pos, a.Subject(), "remove it", "the component %s has no plans: it is of type %s", a.Component, c.Type)
		case other != nil:
			r.problems.Addf(a.Pos, a.Subject(), "remove one of them", "there is another PlanApproval of the component %s, %s, at %s", a.Component, other.Name, other.Pos)
		default:
			r.approvals[c] = a
		}
	}
}

// checkRequests warns of requests for plans of what is not there, and reports two of one component.
func (r *renderer) checkRequests(stacks []*stack.Stack) {
	first := map[string]*model.PlanRequest{}
	for _, q := range r.model.Stacks.Requests {
		name := q.Stack + "/" + q.Component
		c, known := findComponent(stacks, q.Stack, q.Component)
		switch other := first[name]; {
		case c == nil:
			r.problems.Warnf(q.Pos, q.Subject(), cmp.Or(problem.DidYouMean(name, known), "remove it"), "there is no component %s to plan again", name)
		case c.Type != stack.Terraform:
			r.problems.Warnf(q.Pos, q.Subject(), "remove it", "the component %s has no plans: it is of type %s", q.Component, c.Type)
		case other != nil:
			r.problems.Addf(q.Pos, q.Subject(), "remove one of them", "there is another PlanRequest of the component %s, %s, at %s", q.Component, other.Name, other.Pos)
		default:
			first[name] = q
		}
	}
}

// warnOfDeleted warns of an approval of a stack that has no file.
func warnOfDeleted(problems *problem.List, a *model.PlanApproval) {
	problems.Warnf(a.Pos, a.Subject(), "remove it, unless the file of the stack was deleted", "no file describes the stack %s: the plan can only be that of its teardown", a.Stack)
}

func findComponent(stacks []*stack.Stack, path, component string) (found *stack.Component, known []string) {
	for _, s := range stacks {
		for _, c := range s.Components {
			known = append(known, s.Path()+"/"+c.Name)
			if s.Path() == path && c.Name == component {
				return c, nil
			}
		}
	}
	return nil, known
}

// autoApproved is the approvePlan of a component whose plans are applied without a person.
const autoApproved = "auto"

// plannedComponent is a component that makes a plan.
type plannedComponent struct {
	name         string
	auto         bool // its plans are approved without a person
	versioned    bool // its module is named with a version
	plan, inputs string
}

// setApproval sets which plan of a Terraform object is approved, and its digest if that is compared.
func (c plannedComponent) setApproval(o *kubeobject.Object[terraformSpec], a *model.PlanApproval, problems *problem.List) {
	o.Spec.ApprovePlan = c.approve(a, problems)
	if o.Spec.ApprovePlan != c.plan {
		return
	}
	isCompared := len(o.Spec.Webhooks) > 0
	switch {
	case isCompared && a.Digest == "":
		problems.Addf(a.Pos, a.Subject(), "read the plan with fairlead stack plan --plans, and write its digest into spec.digest",
			"the approval has no digest of the plan of the component %s, which tofu-controller has compared before it applies the plan", c.name)
		o.Spec.ApprovePlan = ""
	case isCompared:
		o.Metadata.Annotations[tfplan.DigestAnnotation] = a.Digest
	case a.Digest != "":
		problems.Warnf(a.Pos, a.Subject(), "set spec.plans.webhook of the StackSettings", "the digest of the plan of the component %s is not compared with anything", c.name)
	}
}

// approve returns which plan of a component is approved: "auto" for all of them, "" for none.
//
// An approval counts for the inputs that it names. If it names others it stops the environment, and
// is not only left out: rendering sees one commit, and cannot know that the inputs went away
// between, when they are what they were again.
func (c plannedComponent) approve(a *model.PlanApproval, problems *problem.List) string {
	switch {
	case a == nil && c.auto:
		return autoApproved
	case a == nil:
		return ""
	case c.auto:
		problems.Addf(a.Pos, a.Subject(), "remove it", "the plans of the component %s are approved without a person", c.name)
		return ""
	case !c.versioned:
		problems.Addf(a.Pos, a.Subject(), "write ?ref= and a tag behind module.source, or the exact version of a module of a registry",
			"the module of the component %s has no version: what is applied could be another plan than the one that was approved", c.name)
		return ""
	case string(a.Inputs) != c.inputs || string(a.Plan) != c.plan:
		problems.Addf(a.Pos, a.Subject(), "remove it, and approve the new plan once it was made",
			"the approval is not for the plan of the component %s: it is for %s with the inputs %s, and the plan is %s with the inputs %s",
			c.name, strings.TrimSpace(string(a.Plan)), a.Inputs, c.plan, c.inputs)
		return ""
	}
	return c.plan
}

package stackfiles

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// matchApprovals finds the component of each approval, and reports approvals of what is not there:
// they would approve it when it comes back.
func (r *renderer) matchApprovals(stacks []*stack.Stack) {
	r.approvals = map[*stack.Component]*model.PlanApproval{}
	for _, a := range r.model.Stacks.Approvals {
		c, known := findComponent(stacks, a.Stack, a.Component)
		switch other := r.approvals[c]; {
		case isOfClusters(r.model, a.Stack): // that is checked where clusters are rendered
		case c == nil && !slices.ContainsFunc(stacks, func(s *stack.Stack) bool { return s.Path() == a.Stack }):
			warnOfDeleted(&r.problems, a)
		case c == nil:
			hint := cmp.Or(problem.DidYouMean(a.Stack+"/"+a.Component, known), "remove it")
			r.stopStack(a.Stack, a.Pos, a.Subject(), hint, "the plan is of the component %s of the stack %s, which is not in this environment", a.Component, a.Stack)
		case c.Type != stack.Terraform:
			r.stopStack(a.Stack, a.Pos, a.Subject(), "remove it", "the component %s has no plans: it is of type %s", a.Component, c.Type)
		case other != nil:
			r.stopStack(a.Stack, a.Pos, a.Subject(), "remove one of them", "there is another PlanApproval of the component %s, %s, at %s", a.Component, other.Name, other.Pos)
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
		case isOfClusters(r.model, q.Stack): // that is checked where clusters are rendered
		case c == nil:
			r.problems.Warnf(q.Pos, q.Subject(), cmp.Or(problem.DidYouMean(name, known), "remove it"), "there is no component %s to plan again", name)
		case c.Type != stack.Terraform:
			r.problems.Warnf(q.Pos, q.Subject(), "remove it", "the component %s has no plans: it is of type %s", q.Component, c.Type)
		case other != nil:
			r.stopStack(q.Stack, q.Pos, q.Subject(), "remove one of them", "there is another PlanRequest of the component %s, %s, at %s", q.Component, other.Name, other.Pos)
		default:
			first[name] = q
		}
	}
}

// isOfClusters reports whether an approval or a request names clusters of a manifest in the place of a stack.
func isOfClusters(m *model.Model, stack string) bool {
	nameOf := func(i *model.InputManifest) string { return model.ClustersPrefix + i.Namespace + "-" + i.Name }
	return slices.ContainsFunc(m.Clusters.Manifests, func(i *model.InputManifest) bool { return stack == nameOf(i) }) ||
		slices.ContainsFunc(m.Clusters.Split, func(i *model.InputManifest) bool { return strings.HasPrefix(stack, nameOf(i)+"-") }) // of a cluster that goes
}

func planFolder(m *model.Model, a *model.PlanApproval) string {
	if isOfClusters(m, a.Stack) {
		return path.Join(model.ClustersPrefix+"tofu", strings.TrimPrefix(a.Stack, model.ClustersPrefix), objectsName, a.Component)
	}
	return path.Join(ObjectsFolder, a.Stack, a.Component, objectsName)
}

func (r *renderer) stopStack(path string, pos problem.Pos, subject, hint, format string, args ...any) {
	r.problems = append(r.problems, problem.Problem{Pos: pos, Subject: subject, Hint: hint, Summary: fmt.Sprintf(format, args...), Stack: path})
}

func (r *renderer) stopComponent(c *stack.Component, hint, format string, args ...any) {
	r.stopStack(c.Stack.Path(), c.Stack.PositionAt(c.StackComponent.Name.Line), c.Stack.Subject(), hint, format, args...)
}

func warnOfDeleted(problems *problem.List, a *model.PlanApproval) {
	problems.Warnf(a.Pos, a.Subject(), "remove it, unless it was written for the plan of the teardown", "no file describes the stack %s: the plan can only be that of its teardown", a.Stack)
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

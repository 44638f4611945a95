package impact

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// StackPlan is what clusters do with a stack after a change.
type StackPlan struct {
	Stack      string          `json:"stack"` // "team/environment"
	Namespace  string          `json:"namespace"`
	Components []ComponentPlan `json:"components"` // in order of creation; removed ones last
}

// ComponentPlan is what clusters do with a component after a change.
type ComponentPlan struct {
	ComponentChange
	Object string   `json:"object"` // the name of its objects
	Type   string   `json:"type"`
	Next   NextStep `json:"next,omitempty"` // "" for nothing
	// Approval is "auto", the approved plan, "missing" if a plan waits, "impossible" if
	// it cannot be approved, or "" if none is needed.
	Approval string `json:"approval,omitempty"`
	// Plan is the id of the plan, and Inputs the digest of its inputs.
	Plan   string `json:"plan,omitempty"`
	Inputs string `json:"inputs,omitempty"`
}

// NextStep is what a cluster does with a component.
type NextStep string

// The next steps.
const (
	PlanToApply   NextStep = "plan to apply"
	PlanToDestroy NextStep = "plan to destroy"
	ApplyApproved NextStep = "apply the approved plan"
	StopAtOnce    NextStep = "suspend"
	InstallChart  NextStep = "install"
	UpgradeChart  NextStep = "upgrade"
	RemoveChart   NextStep = "uninstall"
	LeaveOrphan   NextStep = "leave what it made"
)

// PlanStack returns the plan of one stack; false if neither output has it.
func PlanStack(old, new tree.Tree, stack string) (StackPlan, bool, error) {
	team, env, _ := strings.Cut(stack, "/")
	before, was, err := stackfiles.SummarizeStack(old, team, env)
	if err != nil {
		return StackPlan{}, false, fmt.Errorf("read the stack %s before the change: %w", stack, err)
	}
	after, is, err := stackfiles.SummarizeStack(new, team, env)
	if err != nil || !was && !is {
		return StackPlan{}, false, err
	}
	plan := StackPlan{Stack: stack, Namespace: cmp.Or(after.Namespace, before.Namespace)}
	changes := map[string]ComponentChange{}
	for _, s := range Compare(old, new, Options{}).StackChanges {
		if s.Stack != stack {
			continue
		}
		for _, c := range s.Components {
			changes[c.Name] = c
		}
	}
	for _, c := range mergeComponents(before, after) {
		one := ComponentPlan{ComponentChange: ComponentChange{Name: c.Name, After: c.After}, Object: c.Object, Type: c.Type}
		if change, known := changes[c.Name]; known {
			one.ComponentChange = change
		}
		a, b := newComponentVersion(old, before, c.Name), newComponentVersion(new, after, c.Name)
		one.Next = findNextStep(a, b)
		if b.exists {
			one.Plan, one.Inputs, one.Approval = b.Plan, b.Inputs, b.approval(one.Next)
		}
		plan.Components = append(plan.Components, one)
	}
	return plan, true, nil
}

type componentVersion struct {
	stackfiles.ComponentSummary
	exists  bool
	objects tree.ID
}

func newComponentVersion(output tree.Tree, s stackfiles.Summary, name string) componentVersion {
	c, exists := s.FindComponent(name)
	return componentVersion{c, exists, stackfiles.FindObjects(output, s.Stack, name).ID()}
}

func (v componentVersion) isLive() bool { return v.exists && v.Action != stackfiles.Suspend }

func (v componentVersion) approval(next NextStep) string {
	plans := next == PlanToApply || next == PlanToDestroy
	switch {
	case v.Approval != "" || !plans:
		return v.Approval
	case v.Unversioned && !v.Compared:
		return "impossible"
	}
	return "missing"
}

var nextAfterRemoval = map[ComponentState]NextStep{ComponentOrphaned: LeaveOrphan, ComponentUninstalled: RemoveChart}

func findNextStep(was, is componentVersion) NextStep {
	switch {
	case !is.exists:
		return nextAfterRemoval[removedState(was.ComponentSummary)]
	case !is.isLive() && was.isLive():
		return StopAtOnce
	case !is.isLive():
		return ""
	case is.Plan != "":
		return findNextPlan(was, is)
	}
	return findNextRelease(was, is)
}

// findNextPlan relies on Inputs: they cover all that a plan is made from, but no
// approval.
func findNextPlan(was, is componentVersion) NextStep {
	isAnew := !was.isLive() || was.Inputs != is.Inputs || was.Plan != is.Plan
	switch {
	case isAnew && is.Action == stackfiles.Destroy:
		return PlanToDestroy
	case isAnew:
		return PlanToApply
	case is.Approval != was.Approval && is.Approval != "":
		return ApplyApproved
	}
	return ""
}

func findNextRelease(was, is componentVersion) NextStep {
	installed := was.exists && was.Action != stackfiles.Destroy
	switch {
	case is.Action == stackfiles.Destroy && installed:
		return RemoveChart
	case is.Action == stackfiles.Destroy:
		return ""
	case !installed:
		return InstallChart
	case was.objects != is.objects:
		return UpgradeChart
	}
	return ""
}

package impact

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestNextStep: what clusters do with a component that was one version and is another.
func TestNextStep(t *testing.T) {
	none := componentVersion{}
	terraform := func(action stackfiles.Action, inputs, approval string) componentVersion {
		return componentVersion{ComponentSummary: stackfiles.ComponentSummary{Action: action, Plan: "plan-x-a", Inputs: inputs, Approval: approval, Stays: action != stackfiles.Destroy}, exists: true}
	}
	chart := func(action stackfiles.Action, objects byte) componentVersion {
		return componentVersion{ComponentSummary: stackfiles.ComponentSummary{Action: action}, exists: true, objects: tree.ID{objects}}
	}
	moved := terraform(stackfiles.Apply, "1", "")
	moved.Plan = "plan-x-b"
	suspended := chart(stackfiles.Suspend, 1)
	suspended.Stays = true
	unversioned := terraform(stackfiles.Apply, "2", "")
	unversioned.Unversioned = true
	for _, c := range []struct {
		name     string
		was, is  componentVersion
		want     NextStep
		approval string
	}{
		{"new", none, terraform(stackfiles.Apply, "1", ""), PlanToApply, "missing"},
		{"new, without a person", none, terraform(stackfiles.Apply, "1", "auto"), PlanToApply, "auto"},
		{"as it was", terraform(stackfiles.Apply, "1", ""), terraform(stackfiles.Apply, "1", ""), "", ""},
		{"other inputs", terraform(stackfiles.Apply, "1", ""), terraform(stackfiles.Apply, "2", ""), PlanToApply, "missing"},
		{"another root module", terraform(stackfiles.Apply, "1", ""), moved, PlanToApply, "missing"},
		{"a module without a version", terraform(stackfiles.Apply, "1", ""), unversioned, PlanToApply, "impossible"},
		{"approved", terraform(stackfiles.Apply, "1", ""), terraform(stackfiles.Apply, "1", "plan-x-a"), ApplyApproved, "plan-x-a"},
		{"the approval removed", terraform(stackfiles.Apply, "1", "plan-x-a"), terraform(stackfiles.Apply, "1", ""), "", ""},
		{"to be destroyed", terraform(stackfiles.Apply, "1", ""), terraform(stackfiles.Destroy, "2", ""), PlanToDestroy, "missing"},
		{"suspended", terraform(stackfiles.Apply, "1", ""), terraform(stackfiles.Suspend, "2", ""), StopAtOnce, ""},
		{"suspended as before", terraform(stackfiles.Suspend, "1", ""), terraform(stackfiles.Suspend, "2", ""), "", ""},
		{"resumed with the same inputs", terraform(stackfiles.Suspend, "1", ""), terraform(stackfiles.Apply, "1", ""), PlanToApply, "missing"},
		{"removed", terraform(stackfiles.Apply, "1", ""), none, LeaveOrphan, ""},
		{"removed while it is suspended", terraform(stackfiles.Suspend, "1", ""), none, LeaveOrphan, ""},
		{"removed after it was destroyed", terraform(stackfiles.Destroy, "1", ""), none, "", ""},

		{"a new chart", none, chart(stackfiles.Apply, 1), InstallChart, ""},
		{"a chart as it was", chart(stackfiles.Apply, 1), chart(stackfiles.Apply, 1), "", ""},
		{"another chart", chart(stackfiles.Apply, 1), chart(stackfiles.Apply, 2), UpgradeChart, ""},
		{"a chart to be destroyed", chart(stackfiles.Apply, 1), chart(stackfiles.Destroy, 2), RemoveChart, ""},
		{"a new chart that is destroyed", none, chart(stackfiles.Destroy, 1), "", ""},
		{"a chart that is gone already", chart(stackfiles.Destroy, 1), chart(stackfiles.Destroy, 2), "", ""},
		{"a chart that is back", chart(stackfiles.Destroy, 1), chart(stackfiles.Apply, 2), InstallChart, ""},
		{"a chart removed", chart(stackfiles.Apply, 1), none, RemoveChart, ""},
		{"a suspended chart removed", suspended, none, LeaveOrphan, ""},
		{"a chart removed after it was destroyed", chart(stackfiles.Destroy, 1), none, "", ""},
	} {
		got := findNextStep(c.was, c.is)
		if approval := c.is.approval(got); got != c.want || approval != c.approval {
			t.Errorf("%s: %q with the approval %q, want %q with %q", c.name, got, approval, c.want, c.approval)
		}
	}
}

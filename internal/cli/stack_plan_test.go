package cli

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestPlansHaveTheirApproval: below a plan that waits for approval is the whole command that approves it, and below no
// other one.
func TestPlansHaveTheirApproval(t *testing.T) {
	component := func(name, approval string) impact.ComponentPlan {
		return impact.ComponentPlan{ComponentChange: impact.ComponentChange{Name: name}, Object: name, Approval: approval, Plan: "plan-2", Inputs: "feaec16826997273"}
	}
	plan := impact.StackPlan{Stack: "checkout/dev", Namespace: "apps", Components: []impact.ComponentPlan{
		component("waits", "missing"), component("compared", "missing"), component("earlier", "missing"), component("unread", "missing"), component("auto", "auto"),
		component("approved", "plan-2"), component("floating", "impossible"),
	}}
	plans := stackfiles.ReadablePlans{}
	for _, c := range plan.Components {
		plans[stackfiles.ObjectName{Namespace: "apps", Name: c.Name}] = stackfiles.ReadablePlan{ID: "plan-2", Text: "+ resource"}
	}
	plans[stackfiles.ObjectName{Namespace: "apps", Name: "compared"}] = stackfiles.ReadablePlan{ID: "plan-2", Text: "+ resource", Digest: "sha256:12"}
	plans[stackfiles.ObjectName{Namespace: "apps", Name: "earlier"}] = stackfiles.ReadablePlan{ID: "plan-1", Text: "+ resource"}
	delete(plans, stackfiles.ObjectName{Namespace: "apps", Name: "unread"})
	want := map[string]string{
		"waits":    "  fairlead approve-plan dev checkout/dev/waits --inputs feaec16826997273\n",
		"compared": "  fairlead approve-plan dev checkout/dev/compared --inputs feaec16826997273 --digest sha256:12\n",
	}
	for _, c := range newPlannedStack("dev", plan, plans).Components {
		text := c.planText()
		if strings.Contains(text, "approve-plan") != (want[c.Name] != "") || !strings.HasSuffix(text, want[c.Name]) {
			t.Errorf("%s: %q, want at its end %q", c.Name, text, want[c.Name])
		}
	}
	for _, c := range newPlannedStack("", plan, plans).Components {
		if text := c.planText(); strings.Contains(text, "approve-plan") {
			t.Errorf("%s of no environment: %q", c.Name, text)
		}
	}
}

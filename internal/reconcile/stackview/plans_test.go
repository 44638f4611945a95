package stackview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// TestReportedPlan: the text of a plan is bounded, and a plan is identified by who sends it, what it does and what
// it was made from.
func TestReportedPlan(t *testing.T) {
	read := func(resources ...string) *tfplan.Plan {
		var all []string
		for i, value := range resources {
			all = append(all, fmt.Sprintf(`{"address":"a.b[%d]","change":{"actions":["create"],"after":{"v":%q}}}`, i, value))
		}
		p, err := tfplan.Read([]byte(`{"format_version":"1.2","resource_changes":[` + strings.Join(all, ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	newPlan := func(cluster, inputs string, p *tfplan.Plan) ReportedPlan {
		return NewReportedPlan(cluster, tfplan.Report{Namespace: "shop", Name: "db", Annotations: map[string]string{"fairlead.io/inputs": inputs}, Plan: p}, time.Unix(0, 0))
	}
	many := make([]string, 5000)
	for _, c := range []struct {
		name  string
		plan  *tfplan.Plan
		add   int
		isCut bool
	}{
		{"short", read("x"), 1, false},
		{"a long line", read(strings.Repeat("é", 5000), "x"), 2, true},
		{"many lines", read(many...), 5000, true},
	} {
		got := newPlan("east-1", "1", c.plan)
		if got.Add != c.add || got.Cut != c.isCut || len(got.Text) > maxPlanText || !strings.HasPrefix(got.Text, "  # a.b[0] will be created\n") || got.PlanKey != (PlanKey{"east-1", "shop", "db"}) {
			t.Errorf("%s: %d to add, cut %v, %d bytes, %+v", c.name, got.Add, got.Cut, len(got.Text), got.PlanKey)
		}
		if c.name == "a long line" && !strings.Contains(got.Text, "# a.b[1]") {
			t.Error("a long line hides those after it")
		}
	}
	if p := NewReportedPlan("a", tfplan.Report{Stale: true, PlanID: "plan-x", Annotations: map[string]string{"fairlead.io/inputs": "1"}, Plan: read("x")}, time.Unix(0, 0)); p.Inputs != "" || p.Plan != "plan-x" {
		t.Errorf("a plan of before the object has changed is %+v", p)
	}
	ids := map[string]bool{}
	for _, p := range []ReportedPlan{newPlan("a", "1", read("x")), newPlan("a", "1", read("x")), newPlan("b", "1", read("x")), newPlan("a", "2", read("x")), newPlan("a", "1", read("y"))} {
		ids[p.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("%d plans of 4 are told apart", len(ids))
	}
}

// TestPlanOf: a plan is one of a component as clusters have it now, and of no other environment's.
func TestPlanOf(t *testing.T) {
	p := ReportedPlan{PlanKey: PlanKey{"east-1", "shop", "db"}, Plan: "plan-x", Inputs: "1"}
	good := stackfiles.ComponentSummary{Object: "db", Plan: "plan-x", Inputs: "1"}
	for _, c := range []struct {
		name   string
		edit   func(k *Known, c *stackfiles.ComponentSummary)
		wanted bool
	}{
		{"the component", func(*Known, *stackfiles.ComponentSummary) {}, true},
		{"not merged", func(k *Known, _ *stackfiles.ComponentSummary) { k.Merged = false }, false},
		{"another namespace", func(k *Known, _ *stackfiles.ComponentSummary) { k.Namespace = "other" }, false},
		{"another object", func(_ *Known, c *stackfiles.ComponentSummary) { c.Object = "web" }, false},
		{"another commit", func(_ *Known, c *stackfiles.ComponentSummary) { c.Plan = "plan-y" }, false},
		{"other inputs", func(_ *Known, c *stackfiles.ComponentSummary) { c.Inputs = "2" }, false},
	} {
		k, of := Known{Stack: Stack{Summary: stackfiles.Summary{Namespace: "shop"}}, Merged: true}, good
		c.edit(&k, &of)
		if got := p.IsOf(k, of); got != c.wanted {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	p.Inputs, good.Inputs = "", ""
	if p.IsOf(Known{Stack: Stack{Summary: stackfiles.Summary{Namespace: "shop"}}, Merged: true}, good) {
		t.Error("a plan is of a component without inputs")
	}
}

// TestFormatCosts: a pull request tells the costs of the plans that it approves, and of no others.
func TestFormatCosts(t *testing.T) {
	component := func(name, approval string) stackfiles.ComponentSummary {
		return stackfiles.ComponentSummary{Name: name, Object: name, Plan: "plan-" + name, Inputs: "1", Approval: approval}
	}
	of := func(name string, all ...stackfiles.ComponentSummary) stackfiles.Summary {
		return stackfiles.Summary{Stack: name, Namespace: name, Components: all}
	}
	costs := func(_ string, c stackfiles.ComponentSummary) []cost.Change {
		if c.Name == "unknown" {
			return nil
		}
		return []cost.Change{{Currency: "EUR", Before: "1.00", After: "3.00", Difference: "2.00"}}
	}
	before := []stackfiles.Summary{of("shop/dev", component("queue", ""), component("topic", ""), component("db", "plan-db"))}
	for _, test := range []struct {
		name  string
		after []stackfiles.Summary
		want  string
	}{
		{"nothing is approved", before, ""},
		{"a cost is unknown", []stackfiles.Summary{of("shop/dev", component("unknown", "plan-unknown"))}, ""},
		{"two of three", []stackfiles.Summary{of("shop/dev", component("queue", "plan-queue"), component("topic", "auto"), component("db", "plan-db"))},
			"\n### Costs of the approved plans\n\n- stack `shop/dev`: 2.00 to 6.00 EUR a month (+4.00)\n  - `queue`: 1.00 to 3.00 EUR a month (+2.00)\n  - `topic`: 1.00 to 3.00 EUR a month (+2.00)\n"},
		{"two stacks", []stackfiles.Summary{of("shop/dev", component("queue", "plan-queue")), of("web/dev", component("site", "auto"))},
			"\n### Costs of the approved plans\n\n- stack `shop/dev`: 1.00 to 3.00 EUR a month (+2.00)\n  - `queue`: 1.00 to 3.00 EUR a month (+2.00)\n- stack `web/dev`: 1.00 to 3.00 EUR a month (+2.00)\n  - `site`: 1.00 to 3.00 EUR a month (+2.00)\n- all of the environment: 2.00 to 6.00 EUR a month (+4.00)\n"},
	} {
		if got := FormatCosts(before, test.after, costs); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

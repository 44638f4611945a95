package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// sentPlan returns a plan that a cluster has sent of the object db.
func sentPlan(cluster, inputs, id string, second int64) stackview.ReportedPlan {
	return stackview.ReportedPlan{PlanKey: stackview.PlanKey{Cluster: cluster, Namespace: "shop", Object: "db"}, Plan: "plan", Inputs: inputs, ID: id, When: time.Unix(second, 0)}
}

// TestReportedPlans: the newest plan of each cluster is kept that is one of what a component has, until the
// component has something else; and a state that says the same is not a new one.
func TestReportedPlans(t *testing.T) {
	s := &Store{}
	set := func(inputs string, isMerged bool) {
		c := stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: "plan", Inputs: inputs}
		s.SetStacks("prod", []stackview.Known{{Stack: stackview.Stack{Environment: "prod", Summary: stackfiles.Summary{Stack: "shop/eu", Namespace: "shop", Components: []stackfiles.ComponentSummary{c}}}, Merged: isMerged}})
	}
	kept := func() string {
		text := ""
		for _, name := range []string{"a", "b"} {
			if p, ok := s.Snapshot().ReportedPlans[sentPlan(name, "", "", 0).PlanKey]; ok {
				text += p.Cluster + p.ID
			}
		}
		return text
	}
	if s.AddPlan(sentPlan("a", "1", "1", 1)) || kept() != "" {
		t.Error("a plan of what is not known is kept")
	}
	set("1", false)
	if s.AddPlan(sentPlan("a", "1", "1", 1)) || kept() != "" {
		t.Error("a plan of what no cluster has is kept")
	}
	set("", true)
	if s.AddPlan(sentPlan("a", "", "1", 1)) || kept() != "" {
		t.Error("a plan without inputs is kept")
	}
	set("1", true)
	other := sentPlan("a", "1", "9", 9)
	other.Plan = "plan of another commit"
	if s.AddPlan(other) || kept() != "" {
		t.Error("a plan of another commit is kept")
	}
	for _, c := range []struct {
		plan stackview.ReportedPlan
		kept bool
		want string
		news bool
	}{
		{sentPlan("a", "1", "1", 1), true, "a1", true},
		{sentPlan("a", "1", "1", 2), true, "a1", false},
		{sentPlan("a", "2", "2", 3), false, "a1", false},
		{sentPlan("b", "1", "3", 4), true, "a1b3", true},
		{sentPlan("a", "1", "4", 5), true, "a4b3", true},
	} {
		before, _ := s.Version()
		isKept := s.AddPlan(c.plan)
		after, _ := s.Version()
		if isKept != c.kept || kept() != c.want || (after != before) != c.news {
			t.Errorf("%+v: kept %v, %s, news %v; want %v, %s, %v", c.plan, isKept, kept(), after != before, c.kept, c.want, c.news)
		}
	}
	before := s.Snapshot()
	set("2", true)
	if kept() != "" || len(before.ReportedPlans) != 2 {
		t.Errorf("after the component has other inputs: %s; a snapshot of before has %d", kept(), len(before.ReportedPlans))
	}
	past := func() (ids string) {
		for _, p := range s.Snapshot().PastPlans {
			ids += p.ID
		}
		return ids
	}
	if past() != "134" {
		t.Errorf("the plans of before are %s", past())
	}
	set("1", true)
	if !s.AddPlan(sentPlan("a", "1", "1", 9)) || past() != "34" || kept() != "a1" {
		t.Errorf("once it has the inputs of before again: %s, and before %s", kept(), past())
	}
}

// TestManyPlans: neither one cluster nor all of them can fill the memory, and the newest plans are kept.
func TestManyPlans(t *testing.T) {
	s, n := &Store{}, maxReportedPlans+10
	k := stackview.Known{Stack: stackview.Stack{Environment: "prod", Summary: stackfiles.Summary{Namespace: "shop"}}, Merged: true}
	for i := range maxPlansOfCluster + 10 {
		k.Components = append(k.Components, stackfiles.ComponentSummary{Object: fmt.Sprint(i), Plan: "plan", Inputs: "1"})
	}
	k.Components = append(k.Components, stackfiles.ComponentSummary{Object: "db", Plan: "plan", Inputs: "1"})
	s.SetStacks("prod", []stackview.Known{k})
	for i := range maxPlansOfCluster + 10 {
		p := sentPlan("a", "1", fmt.Sprint("a", i), int64(i))
		p.Object = fmt.Sprint(i)
		s.AddPlan(p)
	}
	if got := s.Snapshot().ReportedPlans; len(got) != maxPlansOfCluster || got[stackview.PlanKey{Cluster: "a", Namespace: "shop", Object: "9"}].ID != "" {
		t.Errorf("%d plans of a cluster are kept", len(got))
	}
	for i := range n {
		s.AddPlan(sentPlan(fmt.Sprint("b", i), "1", fmt.Sprint("b", i), int64(1000+i)))
	}
	if got := s.Snapshot().ReportedPlans; len(got) != maxReportedPlans || got[sentPlan(fmt.Sprint("b", n-1), "", "", 0).PlanKey].ID == "" {
		t.Errorf("%d plans are kept", len(got))
	}
	for i := range maxPastPlansOfCluster + 3 {
		s.AddPlan(sentPlan("a", "1", fmt.Sprint("c", i), int64(5000+i)))
	}
	past := s.Snapshot().PastPlans
	if newest := past[len(past)-1].ID; len(past) != maxPastPlansOfCluster || newest != fmt.Sprint("c", maxPastPlansOfCluster+1) {
		t.Errorf("%d plans of before are kept of a cluster, the newest is %s", len(past), newest)
	}
	for i := n - maxPastPlans; i < n; i++ {
		s.AddPlan(sentPlan(fmt.Sprint("b", i), "1", fmt.Sprint("d", i), int64(6000+i)))
	}
	if got := s.Snapshot().PastPlans; len(got) != maxPastPlans {
		t.Errorf("%d plans of before are kept", len(got))
	}
}

// TestPlanCosts: a plan that is sent again keeps its cost, and takes a new one without becoming another plan.
func TestPlanCosts(t *testing.T) {
	s := &Store{}
	c := stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: "plan", Inputs: "1"}
	s.SetStacks("prod", []stackview.Known{{Stack: stackview.Stack{Environment: "prod", Summary: stackfiles.Summary{Stack: "shop/eu", Namespace: "shop", Components: []stackfiles.ComponentSummary{c}}}, Merged: true}})
	for i, test := range []struct{ sent, want string }{{"", ""}, {"5.00", "5.00"}, {"", "5.00"}, {"6.00", "6.00"}} {
		p := sentPlan("a", "1", "1", int64(i))
		if test.sent != "" {
			p.Costs = []cost.Change{{Currency: "EUR", Before: "0.00", After: test.sent, Difference: test.sent}}
		}
		s.AddPlan(p)
		got := ""
		for _, cost := range s.Snapshot().ReportedPlans[p.PlanKey].Costs {
			got += cost.After
		}
		if past := s.Snapshot().PastPlans; got != test.want || len(past) > 0 {
			t.Errorf("%d: the cost %q, want %q; %d past plans", i, got, test.want, len(past))
		}
	}
}

// TestPlanWithoutCost: another plan of the same inputs does not take the cost of the one before it, and neither does
// one that was replaced and is sent again.
func TestPlanWithoutCost(t *testing.T) {
	s := &Store{}
	c := stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: "plan", Inputs: "1"}
	s.SetStacks("prod", []stackview.Known{{Stack: stackview.Stack{Environment: "prod", Summary: stackfiles.Summary{Stack: "shop/eu", Namespace: "shop", Components: []stackfiles.ComponentSummary{c}}}, Merged: true}})
	cheap := sentPlan("a", "1", "1", 1)
	cheap.Costs = []cost.Change{{Currency: "EUR", Before: "0.00", After: "5.00", Difference: "5.00"}}
	for i, test := range []struct {
		sent stackview.ReportedPlan
		want string
	}{{cheap, "1 5.00"}, {sentPlan("a", "1", "2", 2), "1 5.00, 2 -"}, {sentPlan("a", "1", "1", 3), "2 -, 1 -"}} {
		s.AddPlan(test.sent)
		var got []string
		for _, p := range s.FindPlans("shop", "db") {
			cost := "-"
			if len(p.Costs) > 0 {
				cost = p.Costs[0].After
			}
			got = append(got, p.ID+" "+cost)
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%d: %s, want %s", i, text, test.want)
		}
	}
	if s.FindPlans("shop", "web") != nil || s.FindPlans("other", "db") != nil {
		t.Error("plans of another object")
	}
}

// TestRestorePlans: stored plans are as they were, also while a first cycle finds the stacks of one environment after
// the other; what is known better is not replaced.
func TestRestorePlans(t *testing.T) {
	s := &Store{}
	ids := func() (text string) {
		for _, p := range s.FindPlans("shop", "db") {
			text += p.ID
		}
		return text
	}
	all := []stackview.ReportedPlan{sentPlan("a", "1", "1", 1), sentPlan("b", "1", "2", 2), sentPlan("a", "2", "3", 3)}
	if !s.RestorePlans(all) || s.RestorePlans(all) || ids() != "123" {
		t.Errorf("restored: %s", ids())
	}
	s.SetStacks("dev", nil)
	if reported := s.Snapshot().ReportedPlans; len(reported) != 2 || reported[all[0].PlanKey].ID != "3" {
		t.Errorf("while the stacks of prod are unknown, the plans are %+v", reported)
	}
	c := stackfiles.ComponentSummary{Name: "db", Object: "db", Plan: "plan", Inputs: "2"}
	s.SetCycle(Cycle{Outcome: "ok"})
	s.SetStacks("prod", []stackview.Known{{Stack: stackview.Stack{Environment: "prod", Summary: stackfiles.Summary{Stack: "shop/eu", Namespace: "shop", Components: []stackfiles.ComponentSummary{c}}}, Merged: true}})
	if reported := s.Snapshot().ReportedPlans; len(reported) != 1 || reported[all[0].PlanKey].ID != "3" || ids() != "123" {
		t.Errorf("when they are known, the plans are %+v, of %s", reported, ids())
	}
	if s.RestorePlans([]stackview.ReportedPlan{sentPlan("a", "2", "0", 2)}) {
		t.Error("an older plan takes the place of a newer one")
	}
}

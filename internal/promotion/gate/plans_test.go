package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestSendPlans: a gate that sends plans reads them first, and asks nothing before it knows them.
func TestSendPlans(t *testing.T) {
	const gate = "{name: cost, http: {url: https://cost.example.com/check, expect: body.passed, send: [plans]}}"
	stacks := []stackfiles.Summary{{Stack: "checkout/prod", Namespace: "zmart-checkout-prod", Components: []stackfiles.ComponentSummary{
		{Name: "db", Object: "checkout-prod-db", Type: "terraform", After: []string{}, Action: stackfiles.Apply, Plan: "plan-modules-0123456789", Module: &stackfiles.ModuleSource{Repo: "https://git.example.com/gitops", Branch: "modules", Commit: "0123456789", Path: "team/x"}},
	}}}
	with := func(p *Plans, answers map[string]Answer) Facts {
		return facts(func(f *Facts) { f.Plans, f.Answers = p, answers })
	}
	yes := map[string]Answer{"http stage cost": {Time: before(20 * time.Second), Code: 200, Body: []byte(`{"passed":true}`)}}
	many := &Plans{Output: "2222222bbbb", Stacks: []stackfiles.Summary{{Stack: strings.Repeat("x", maxSentSize)}}}
	checkCases(t, []verdictCase{
		{"not known", gate, with(nil, yes), "wait: cost.example.com has not been requested yet: the plans of the stacks of stage are not known: its output is not merged yet"},
		{"cannot be read", gate, with(nil, map[string]Answer{"plans stage": {Reason: "no such commit"}}), "wait: cost.example.com has not been requested yet: the plans of the stacks of stage are not known: no such commit"},
		{"too many", gate, with(many, yes), "wait: cost.example.com has not been requested yet: the plans of the stacks of stage have more than 1 MiB"},
		{"not asked", gate, with(&Plans{}, nil), "wait: cost.example.com has not been requested yet"},
		{"too dear", gate, with(&Plans{Stacks: stacks}, map[string]Answer{"http stage cost": {Time: before(20 * time.Second), Code: 200, Body: []byte(`{"passed":false}`)}}),
			"wait: cost.example.com answered 200, and expect is not true yet [11-23 12:00]"},
		{"yes", gate, with(&Plans{Stacks: stacks}, yes), "pass: cost.example.com answered as expected [11-23 12:00]"},
	})
	asker := made(t, gate).(Asker)
	if diff := cmp.Diff([]Need{{Key: "plans stage", Kind: StackPlans}}, asker.Needs(with(nil, nil))); diff != "" {
		t.Errorf("needs without plans: -want +got:\n%s", diff)
	}
	needs := asker.Needs(with(&Plans{Output: "2222222bbbb", Stacks: stacks}, nil))
	var sent sentBody
	if len(needs) != 1 || needs[0].Kind != HTTP || json.Unmarshal(needs[0].Body, &sent) != nil {
		t.Fatalf("needs with plans: %+v", needs)
	}
	if diff := cmp.Diff(sentBody{"stage", "1111111aaaa", "2222222bbbb", stacks}, sent); diff != "" {
		t.Errorf("sent: -want +got:\n%s", diff)
	}
	if none := asker.Needs(with(&Plans{}, nil)); !strings.Contains(string(none[0].Body), `"stacks":[]`) {
		t.Errorf("without stacks: %s", none[0].Body)
	}
	_, problems := New(stage(t, "- http: {url: https://cost.example.com, expect: 'true', send: [secrets]}").Gates[0])
	if first, stops := problems.FirstStopping(); !stops || !strings.Contains(first.Summary, `send: "secrets" is not known`) {
		t.Errorf("what cannot be sent: %v", problems)
	}
}

// TestCost: costs of one currency are added up, and what is not known is waited for, whatever the others cost.
func TestCost(t *testing.T) {
	const gate = "cost: {increase: 100, currency: EUR}"
	of := func(name, currency, before, after, difference string) PlannedCost {
		return PlannedCost{Component: name, Costs: []cost.Change{{Currency: currency, Before: before, After: after, Difference: difference}}}
	}
	with := func(all ...PlannedCost) Facts { return facts(func(f *Facts) { f.Costs = &all }) }
	queue, topic := of("dev shop/dev/queue", "EUR", "10.00", "90.00", "80.00"), of("dev shop/dev/topic", "EUR", "0.00", "20.00", "20.00")
	unsent := PlannedCost{Component: "dev shop/dev/db", Missing: "has not been sent"}
	many := []PlannedCost{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		many = append(many, PlannedCost{Component: name, Missing: "was sent without a cost"})
	}
	checkCases(t, []verdictCase{
		{"not merged", gate, facts(), "wait: the plans are made once the output is merged"},
		{"cannot be read", gate, facts(func(f *Facts) { f.Answers = map[string]Answer{"costs stage": {Reason: "no such commit"}} }), "wait: the costs of the plans are not known: no such commit"},
		{"nothing is planned", gate, with(), "pass: no plan changes the costs"},
		{"exactly as much", gate, with(queue, topic), "pass: costs: 10.00 to 110.00 EUR a month (+100.00), at most +100 are allowed"},
		{"a little more", gate, with(queue, topic, of("x", "EUR", "1.00", "1.000001", "0.000001")), "fail: costs: 11.00 to 111.000001 EUR a month (+100.000001), at most +100 are allowed"},
		{"less", "cost: {increase: 0, currency: EUR}", with(of("x", "EUR", "9.00", "1.00", "-8.00")), "pass: costs: 9.00 to 1.00 EUR a month (-8.00), at most +0 are allowed"},
		{"not sent", gate, with(queue, unsent), "wait: the plan of dev shop/dev/db has not been sent"},
		{"too dear already, and one is not known", gate, with(queue, queue, unsent), "wait: the plan of dev shop/dev/db has not been sent"},
		{"another currency", gate, with(topic, of("dev shop/dev/queue", "USD", "0.00", "1.00", "1.00")), "wait: the plan of dev shop/dev/queue costs USD, and the limit is in EUR"},
		{"many", gate, with(many...), "wait: the plan of a was sent without a cost; the plan of b was sent without a cost; the plan of c was sent without a cost; and 2 more"},
	})
	if diff := cmp.Diff([]Need{{Key: "costs stage", Kind: PlanCosts}}, made(t, gate).(Asker).Needs(facts())); diff != "" {
		t.Errorf("needs: -want +got:\n%s", diff)
	}
}

package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

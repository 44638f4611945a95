package loop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestPromotionFacts: promotions are decided from what a cycle has found of an environment.
func TestPromotionFacts(t *testing.T) {
	inputs := []status.Input{{Layer: "dev", Commit: "e1"}, {Layer: "base", Commit: "b1"}, {Layer: "base", Commit: "b2"}}
	pull := &status.Pull{Number: 7, URL: "https://forge/7"}
	problems := problem.List{{Summary: "no such template"}}
	limit := []status.Withheld{{Cause: "hold", Reason: "held"}, {Cause: "removals", Reason: "12 of 20 files"}}
	for name, test := range map[string]struct {
		report status.Environment
		want   promoter.Environment
	}{
		"not reconciled yet":     {},
		"in sync":                {status.Environment{State: status.InSync, Inputs: inputs}, promoter.Environment{BaseCommit: "b1", InSync: true}},
		"merged by us just now":  {status.Environment{State: status.InSync, Output: status.Output{Commit: "o2"}}, promoter.Environment{InSync: true, JustMerged: true}},
		"where the output goes":  {status.Environment{Output: status.Output{Repo: "r", Branch: "b", Folder: "f", Head: "h"}}, promoter.Environment{Repo: "r", Branch: "b", Folder: "f", Head: "h"}},
		"an open pull request":   {status.Environment{State: status.Proposed, Pull: pull}, promoter.Environment{Pull: &gate.Pull{Number: 7, URL: "https://forge/7"}}},
		"a closed pull request":  {status.Environment{State: status.Declined, Pull: pull}, promoter.Environment{}},
		"problems that stop it":  {status.Environment{State: status.Problems, Reason: "1 problem stops it", Problems: problems}, promoter.Environment{RenderFailure: "1 problem stops it", Problems: problems}},
		"warnings":               {status.Environment{State: status.InSync, Reason: "in sync", Problems: problems}, promoter.Environment{InSync: true}},
		"an operation failed":    {status.Environment{State: status.Failed, Reason: "the server is down"}, promoter.Environment{}},
		"more than the limits":   {status.Environment{Withheld: limit}, promoter.Environment{ExceededLimit: "12 of 20 files", Withheld: limit}},
		"held within the limits": {status.Environment{Withheld: limit[:1]}, promoter.Environment{Withheld: limit[:1]}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &environment{report: test.report}
			if diff := cmp.Diff(test.want, e.promotionFacts()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

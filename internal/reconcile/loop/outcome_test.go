package loop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// outcomes are what a round can make of an environment.
func outcomes() map[string]outcome {
	pull := &forge.Pull{Number: 7, URL: "https://forge/7", Commit: "p1", Proposal: forge.Proposal{Title: "dev: 1 workload"}}
	stops, warns := problem.List{{Summary: "no such template"}}, problem.List{{Summary: "it is not read", Warning: true}}
	withheld := []publish.Withholding{{Cause: publish.CauseHold, Reason: "held"}, {Cause: publish.CauseRemovals, Reason: "12 of 20 files", Label: "removals", ChangeID: "c1"}}
	in := func(s publish.State) publish.Result { return publish.Result{State: s} }
	return map[string]outcome{
		"not reconciled yet": {},
		"in sync": {result: in(publish.InSync), assignments: 12, clusterTypes: make([]promoter.ClusterType, 3),
			commits: []source.Commit{{Layer: "dev", Commit: "e1", Repo: "cp"}, {Layer: "base", Commit: "b1", Folder: "f"}, {Layer: "base", Commit: "b2"}}},
		"merged by us just now": {result: publish.Result{State: publish.InSync, Commit: "o2"}},
		"where the output goes": {output: model.RepoRef{Repo: "r", Branch: "b", Path: "f"}, wanted: "t", result: publish.Result{State: publish.DryRun, Head: "h", Change: "1 workload"}},
		"an open pull request":  {result: publish.Result{State: publish.Proposed, Pull: pull}},
		"a closed pull request": {result: publish.Result{State: publish.Declined, Pull: pull}},
		"problems that stop it": {problems: stops, result: publish.Result{Reason: "1 problem stops it"}},
		"warnings":              {problems: warns, result: publish.Result{State: publish.InSync, Reason: "in sync"}},
		"it waits for its turn": {result: publish.Result{Reason: "dev comes first"}},
		"an operation failed":   {problems: stops, failed: true, result: publish.Result{Reason: "the server is down", Pull: pull}},
		"more than the limits":  {result: publish.Result{State: publish.Proposed, Withheld: withheld}},
	}
}

// TestPromotionFacts: promotions are decided from what a cycle has found of an environment.
func TestPromotionFacts(t *testing.T) {
	all := outcomes()
	for name, want := range map[string]promoter.Environment{
		"not reconciled yet":    {},
		"in sync":               {BaseCommit: "b1", Workloads: map[string]string{"base": "b2", "dev": "e1"}, InSync: true, ClusterTypes: make([]promoter.ClusterType, 3)},
		"merged by us just now": {InSync: true, JustMerged: true},
		"where the output goes": {Repo: "r", Branch: "b", Folder: "f", Head: "h"},
		"an open pull request":  {Pull: &gate.Pull{Number: 7, URL: "https://forge/7"}},
		"a closed pull request": {Declined: 7},
		"problems that stop it": {RenderFailure: "1 problem stops it", Problems: all["problems that stop it"].problems},
		"warnings":              {InSync: true},
		"it waits for its turn": {},
		"an operation failed":   {},
		"more than the limits":  {Withheld: all["more than the limits"].result.Withheld},
	} {
		t.Run(name, func(t *testing.T) {
			o := all[name]
			if diff := cmp.Diff(want, o.promotionFacts()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestNewReport: the report says what a round has made of an environment.
func TestNewReport(t *testing.T) {
	all := outcomes()
	pull := &status.Pull{Number: 7, Title: "dev: 1 workload", URL: "https://forge/7", Head: "p1"}
	for name, want := range map[string]status.Environment{
		"not reconciled yet": {State: status.Waiting},
		"in sync": {State: status.InSync, Assignments: 12, ClusterTypes: 3,
			Inputs: []status.Input{{Layer: "dev", Commit: "e1", Repo: "cp"}, {Layer: "base", Commit: "b1", Folder: "f"}, {Layer: "base", Commit: "b2"}}},
		"merged by us just now": {State: status.InSync, Output: status.Output{Commit: "o2"}},
		"where the output goes": {State: status.DryRun, Change: "1 workload", Output: status.Output{Repo: "r", Branch: "b", Folder: "f", Head: "h", Wanted: "t"}},
		"an open pull request":  {State: status.Proposed, Pull: pull},
		"a closed pull request": {State: status.Declined, Pull: pull},
		"problems that stop it": {State: status.Problems, Reason: "1 problem stops it", Problems: all["problems that stop it"].problems},
		"warnings":              {State: status.InSync, Reason: "in sync", Problems: all["warnings"].problems},
		"it waits for its turn": {State: status.Waiting, Reason: "dev comes first"},
		"an operation failed": {State: status.Failed, Reason: "the server is down", Error: "the server is down", Pull: pull,
			Problems: all["problems that stop it"].problems},
		"more than the limits": {State: status.Proposed,
			Withheld: []status.Withheld{{Cause: "hold", Reason: "held"}, {Cause: "removals", Reason: "12 of 20 files", Acknowledge: "c1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := all[name]
			if diff := cmp.Diff(want, o.newReport()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

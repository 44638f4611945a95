package answer

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestOverviewOfRollback: who is held needs attention, and a rollback is not a promotion.
func TestOverviewOfRollback(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	back, bad := wentBack("good"), got("bad")
	back.When, bad.When = noon, noon.Add(-time.Minute)
	dev := stageAt("dev", nil, back, bad)
	dev.Since, dev.Hold = noon, "hello does not start (by alice, until fairlead release dev)"
	dev.Next = promote.Decision{State: promote.Held, Verdict: gate.Verdict{Reason: "it is held: " + dev.Hold}}
	prod := stageAt("prod", nil, got("good"))
	prod.Turns[0].When = noon.Add(-time.Hour)
	prod.Since, prod.Merged, prod.Proof.Status = noon.Add(-time.Hour), false, gate.Wait
	s := Source{Snapshot: status.Snapshot{
		Chain:        status.Chain{Stages: []status.Stage{dev, prod}, Commits: lineOf("bad", "good")},
		Environments: []status.Environment{{Name: "prod", State: status.Proposed, Reason: "the forge merges it", MergeReason: "the forge merges it", Assignments: 1, Pull: &status.Pull{Number: 10}}},
	}}
	o := s.Overview()
	want := []TimelineMark{
		{Time: noon, Environment: "dev", Action: history.RollbackAction, Who: "Alice", Commit: s.Commit("good"), Reason: "hello does not start"},
		{Time: noon.Add(-time.Minute), Environment: "dev", Action: history.PromoteAction, Commit: s.Commit("bad")},
		{Time: noon.Add(-time.Hour), Environment: "prod", Action: history.PromoteAction, Commit: s.Commit("good")},
	}
	if diff := cmp.Diff(want, o.Timeline.Marks); diff != "" {
		t.Errorf("the last ones are (-want +got):\n%s", diff)
	}
	if len(o.Needs) != 1 || o.Needs[0].Environment != "dev" || o.Needs[0].Reason != "held: hello does not start (by alice, until fairlead release dev)" {
		t.Errorf("a person is needed for %+v", o.Needs)
	}
}

// TestForcedIsMarked: of a promotion that a person forced it is said who did, and why.
func TestForcedIsMarked(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	prod := stageAt("prod", nil, status.Turn{Commit: "c1", When: noon, Who: "alice", Reason: "the queue", Forced: "the outage"})
	prod.Since = noon
	marks := Source{Snapshot: status.Snapshot{Chain: status.Chain{Stages: []status.Stage{prod}}}}.Overview().Timeline.Marks
	if len(marks) != 1 || !marks[0].Forced || marks[0].Who != "alice" || marks[0].Reason != "the outage" {
		t.Errorf("it is said of it %+v", marks)
	}
}

// TestWaitsForApproval: people are asked for where an approval gate waits, whatever it is called, and not where the words of
// another gate, of a foreign status or of a workflow are like its own.
func TestWaitsForApproval(t *testing.T) {
	for _, test := range []struct {
		part gate.Verdict
		want bool
	}{
		{gate.Verdict{Gate: "release-board", Kind: gate.KindApproval, Status: gate.Wait, Reason: "1 missing"}, true},
		{gate.Verdict{Gate: "release-board", Kind: gate.KindApproval, Status: gate.Pass, Reason: "1 approval"}, false},
		{gate.Verdict{Gate: "http", Kind: "http", Status: gate.Wait, Reason: "approvals.example.com answers 503"}, false},
		{gate.Verdict{Gate: "status", Kind: "status", Status: gate.Wait, Reason: "security/approval-scan is pending: needs approval"}, false},
		{gate.Verdict{Gate: "dispatch", Kind: "dispatch", Status: gate.Wait, Reason: "test-approval-flow.yml runs"}, false},
		{gate.Verdict{Gate: "approval", Kind: "status", Status: gate.Wait, Reason: "no status"}, false},
	} {
		next := promote.Decision{State: promote.Waiting, Verdict: gate.CombineVerdicts("prod", []gate.Verdict{gate.CombineVerdicts("gates", []gate.Verdict{test.part})})}
		if got := waitsForApproval(status.Stage{Next: next}); got != test.want {
			t.Errorf("%+v: %v", test.part, got)
		}
	}
}

// TestHeldLanes: a held lane needs attention, once.
func TestHeldLanes(t *testing.T) {
	stage := status.Stage{Environment: "stage", Commit: "c1", Merged: true, Lanes: []status.Lane{{Name: "hello", Next: "c2", Reason: "it failed"}, {Name: "shop", Hold: "a sale"}}}
	needs := Source{Snapshot: status.Snapshot{Chain: status.Chain{Stages: []status.Stage{stage}}}}.Needs()
	if !slices.ContainsFunc(needs, func(n Need) bool { return n.Environment == "stage" && n.Reason == "lane shop is held: a sale" }) {
		t.Errorf("the needs are %+v", needs)
	}
	before := len(needs)
	stage.Hold = "lane shop is held, and stage moves as a whole: a sale"
	if needs := (Source{Snapshot: status.Snapshot{Chain: status.Chain{Stages: []status.Stage{stage}}}}).Needs(); len(needs) > before {
		t.Errorf("the needs are %+v", needs)
	}
}

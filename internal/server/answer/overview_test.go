package answer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestOverviewOfRollback: who is held needs a person, and a rollback is no promotion. What is not merged yet is
// said to be so.
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
	want := []Recent{
		{Environment: "dev", Commit: *s.Commit("good"), When: noon, RolledBack: true, Who: "Alice", Reason: "hello does not start"},
		{Environment: "dev", Commit: *s.Commit("bad"), When: noon.Add(-time.Minute)},
		{Environment: "prod", Commit: *s.Commit("good"), When: noon.Add(-time.Hour), Unmerged: true, Pull: &status.Pull{Number: 10}},
	}
	if diff := cmp.Diff(want, o.Recent); diff != "" {
		t.Errorf("the last ones are (-want +got):\n%s", diff)
	}
	if len(o.Needs) != 1 || o.Needs[0].Environment != "dev" || o.Needs[0].Reason != "held: hello does not start (by alice, until fairlead release dev)" {
		t.Errorf("a person is needed for %+v", o.Needs)
	}
}

// TestForcedIsRecent: of a promotion that a person forced it is said who did, and why.
func TestForcedIsRecent(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	prod := stageAt("prod", nil, status.Turn{Commit: "c1", When: noon, Who: "alice", Reason: "the queue", Forced: "the outage"})
	prod.Since = noon
	recent := Source{Snapshot: status.Snapshot{Chain: status.Chain{Stages: []status.Stage{prod}}}}.Overview().Recent
	if len(recent) != 1 || !recent[0].Forced || recent[0].Who != "alice" || recent[0].Reason != "the outage" {
		t.Errorf("it is said of it %+v", recent)
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

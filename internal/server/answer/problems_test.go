package answer

import (
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestStoppedProblems: what is held or frozen is listed without the time at which the environment got its commit, and
// what an error keeps from being promoted is listed though the environment is well.
func TestStoppedProblems(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	held, frozen, failing := stageAt("held", nil, got("c1")), stageAt("frozen", nil, got("c1")), stageAt("failing", nil, got("c1"))
	held.Hold, held.Next.State, held.Action = "a sale", promote.Held, "held: a sale"
	frozen.Withheld, frozen.Action = []status.Withheld{{Cause: "freeze", Reason: "freeze xmas"}}, "freeze xmas"
	covered := stageAt("covered", nil, got("c1"))
	covered.Frozen, covered.Action = "freeze q4", "up to date; freeze q4"
	failing.Next = promote.Decision{State: promote.Waiting, Candidate: "c2", Error: "set the status of c1: 404", Verdict: gate.Verdict{Status: gate.Wait, Reason: "it is tried again"}}
	s := Source{Snapshot: status.Snapshot{Chain: status.Chain{Commits: lineOf("c2", "c1")}}}
	for _, stage := range []status.Stage{held, frozen, failing, covered} {
		stage.Since = noon
		s.Snapshot.Chain.Stages = append(s.Snapshot.Chain.Stages, stage)
	}
	found := map[string]Problem{}
	for _, p := range s.Problems(ProblemFilter{}).Items {
		found[p.Environments[0]+" "+p.Kind] = p
	}
	for key, want := range map[string]string{"held " + Declined: "held: a sale", "frozen " + Declined: "freeze xmas", "failing " + Failure: "no commit is promoted: set the status of c1: 404"} {
		if p, is := found[key]; !is || p.Summary != want || !p.Since.IsZero() {
			t.Errorf("%s is %+v, want %q", key, p, want)
		}
	}
	if p, is := found["covered "+Declined]; is {
		t.Errorf("a freeze that keeps nothing is listed: %+v", p)
	}
	if n := s.CountUrgent(); n != 1 {
		t.Errorf("%d are urgent", n)
	}
	if all := s.Status().PromotionErrors(); len(all) != 1 || all[0] != (PromotionError{"failing", "set the status of c1: 404"}) {
		t.Errorf("on the page about health are %v", all)
	}
	needs := map[string]State{}
	for _, n := range s.Needs() {
		if n.Environment == "covered" || n.Environment == "frozen" && !slices.Contains(n.Levers, "end") {
			t.Errorf("a person is needed for %+v", n)
		}
		needs[n.Environment] = n.State
	}
	if needs["frozen"] != (State{Stopped, "frozen"}) || needs["held"] != (State{Stopped, "held"}) || needs["failing"] != isFailing {
		t.Errorf("the needs are %v", needs)
	}
}

var isFailing = State{Bad, "fails"}

// TestOverruled: that all clusters are ready is not said beside a verification that has not passed.
func TestOverruled(t *testing.T) {
	for word, want := range map[status.StageState]bool{status.StageFailed: true, status.StageRollingOut: true, status.StageVerified: false} {
		e := Environment{CommitState: State{Word: string(word)}, Clusters: &fleetview.Standing{Expected: 2, Ready: 2}}
		if e.Overruled() != want {
			t.Errorf("%s: %v", word, !want)
		}
		e.Clusters.Ready = 1
		if e.Overruled() {
			t.Errorf("%s, and one is not ready: it says the same", word)
		}
	}
}

// TestDrifted: an environment that was verified says beside it how many of its clusters have drifted since.
func TestDrifted(t *testing.T) {
	stage := stageAt("dev", nil, got("c1"))
	stage.Action = "up to date"
	s := Source{Ledger: true, Snapshot: status.Snapshot{Chain: status.Chain{Stages: []status.Stage{stage}}}, Clusters: []fleetview.Overview{{Standing: fleetview.Standing{Environment: "dev", Expected: 1, Failed: 1}}}}
	for drifted, want := range []string{"up to date", "up to date; 1 cluster drifted since"} {
		s.Clusters[0].Drifted = drifted
		if e := s.Overview().Environments[0]; e.State.Word != "verified" || e.Reason != want {
			t.Errorf("with %d drifted, it is %v, %q", drifted, e.State, e.Reason)
		}
	}
	s.Clusters[0].Laggards.Items = []fleetview.Laggard{{Cluster: "east-1", Clusters: 1, Standing: "failed", Cause: "drift", Why: "Terraform/shop/db has drifted: a node is gone"}}
	if all := s.Problems(ProblemFilter{}).Items; len(all) != 1 || all[0].Hint != driftHint || all[0].Kind != Report {
		t.Errorf("the problems are %+v", all)
	}
	for want, of := range map[string]fleetview.Standing{
		"0 of 1 cluster ready, 1 drifted":                                                {Expected: 1, Failed: 1, Drifted: 1},
		"0 of 1 cluster ready, 1 waits for approval":                                     {Expected: 1, Progressing: 1, Waiting: 1},
		"1 of 6 clusters ready, 1 failed, 1 drifted, 2 wait for approval, 1 progressing": {Expected: 6, Ready: 1, Failed: 2, Drifted: 1, Progressing: 3, Waiting: 2},
	} {
		if got := of.Summary(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRollbackOffered: a rollback is offered for what failed, unless it is known that there was nothing before.
func TestRollbackOffered(t *testing.T) {
	for name, c := range map[string]struct {
		first bool
		hint  string
		lever string
	}{
		"it may have had another commit": {false, "fairlead rollback dev --reason TEXT: it gets what it had before", "rollback"},
		"it is the first":                {true, "", "hold"},
	} {
		stage := stageAt("dev", nil, got("c2"))
		stage.FirstCommit, stage.Proof = c.first, gate.Verdict{Status: gate.Fail, Reason: "it crashes"}
		s := Source{Snapshot: status.Snapshot{Chain: status.Chain{Commits: lineOf("c2", "c1"), Stages: []status.Stage{stage}}}}
		problems, needs := s.Problems(ProblemFilter{}).Items, s.Needs()
		if len(problems) != 1 || len(needs) != 1 || problems[0].Hint != c.hint || len(needs[0].Levers) == 0 || needs[0].Levers[0] != c.lever {
			t.Errorf("%s: %+v\n%+v", name, problems, needs)
		}
	}
}

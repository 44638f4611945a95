package answer

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestOneState: an environment has the state of its commit, or that of its output if it is more urgent.
func TestOneState(t *testing.T) {
	verified := status.Stage{Environment: "prod", Commit: "c1", Merged: true, Proof: gate.Verdict{Status: gate.Pass}}
	rolling := status.Stage{Environment: "prod", Commit: "c1", Merged: true, Proof: gate.Verdict{Status: gate.Wait}}
	held := verified
	held.Hold, held.Next.State = "incident", promote.Held
	frozen, kept, covered := verified, verified, verified
	covered.Frozen = "freeze xmas: sale, until a person ends it"
	frozen.Withheld = []status.Withheld{{Cause: "freeze", Reason: "freeze xmas"}}
	kept.Next = promote.Decision{State: promote.Waiting, Candidate: "c2", Verdict: gate.Verdict{Gate: "prod", Status: gate.Wait, Parts: []gate.Verdict{{Gate: "xmas", Kind: gate.KindFreeze, Status: gate.Wait}}}}
	open := status.Stage{Environment: "prod", Commit: "c1", Proof: gate.Verdict{Status: gate.Wait}}
	full := status.Environment{Name: "prod", State: status.InSync, Assignments: 3}
	with := func(s status.State) status.Environment {
		e := full
		e.State = s
		return e
	}
	withheld := with(status.Proposed)
	withheld.Withheld = []status.Withheld{{Cause: "removals"}}
	leftToPeople, mergedLater := with(status.Proposed), with(status.Proposed)
	leftToPeople.Pull, mergedLater.Pull = &status.Pull{Number: 3}, &status.Pull{Number: 3}
	mergedLater.MergeReason = "the forge merges it once nothing is missing"
	for name, c := range map[string]struct {
		output status.Environment
		stage  *status.Stage
		want   State
	}{
		"well":                    {full, &verified, State{Good, "verified"}},
		"it lost its assignments": {status.Environment{Name: "prod", State: status.InSync}, &verified, State{Unknown, "empty"}},
		"it lost its assignments, not promoted to":  {status.Environment{Name: "prod", State: status.InSync}, nil, State{Unknown, "empty"}},
		"verified, and now it cannot be rendered":   {with(status.Problems), &verified, State{Bad, "problems"}},
		"verified, and the next change was closed":  {with(status.Declined), &verified, State{Stopped, "declined"}},
		"verified, and a workload's change is open": {with(status.Proposed), &verified, State{Busy, "proposed"}},
		"held":                      {full, &held, State{Stopped, "held"}},
		"frozen":                    {full, &frozen, State{Stopped, "frozen"}},
		"frozen for promotions":     {full, &kept, State{Stopped, "frozen"}},
		"frozen, and nothing waits": {full, &covered, State{Stopped, "frozen"}},
		"frozen, and broken":        {with(status.Failed), &frozen, State{Bad, "failed"}},
		"left to people":            {leftToPeople, &open, State{Waiting, "proposed"}},
		"merged by Fairlead, later": {mergedLater, &open, State{Busy, "proposed"}},
		"held, and broken":          {with(status.Failed), &held, State{Bad, "failed"}},
		"rolling out":               {full, &rolling, State{Busy, "rolling-out"}},
		"open":                      {with(status.Proposed), &open, State{Busy, "proposed"}},
		"open, for a person":        {withheld, &open, State{Waiting, "proposed"}},
		"no report yet":             {status.Environment{Name: "prod"}, &verified, State{Good, "verified"}},
		"no commit yet":             {with(status.Waiting), &status.Stage{}, State{Unknown, "empty"}},
		"not promoted to":           {full, nil, State{Good, "in-sync"}},
	} {
		if c.stage != nil {
			known := *c.stage
			known.State = known.FindState(c.output.State)
			c.stage = &known
		}
		if got := findState(c.output, c.stage); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestEveryStateHasATone: no state of a commit or of an output is unknown but that of an empty environment.
func TestEveryStateHasATone(t *testing.T) {
	for _, s := range status.AllStageStates() {
		if (s.Tone() == Unknown) != (s == status.StageEmpty) {
			t.Errorf("%s is %s", s, s.Tone())
		}
	}
	for _, s := range status.AllStates() {
		if status.StageState(s).Tone() == Unknown {
			t.Errorf("%s is unknown", s)
		}
	}
}

// TestMarks: what a commit is to an environment follows from what that has and gets.
func TestMarks(t *testing.T) {
	s := Source{Snapshot: status.Snapshot{Chain: status.Chain{
		Commits: []status.Commit{{ID: "eeee5"}, {ID: "dddd4"}, {ID: "cccc3"}, {ID: "bbbb2"}, {ID: "aaaa1"}},
		Stages: []status.Stage{
			{Environment: "dev", Commit: "eeee5", Merged: true},
			{Environment: "stage", Commit: "bbbb2", Merged: true, Next: promote.Decision{State: promote.Waiting, Candidate: "dddd4", Skipped: []string{"cccc3"}}},
			{Environment: "prod", Commit: "aaaa1", Merged: true, Next: promote.Decision{State: promote.Waiting, Candidate: "cccc3"}},
			{Environment: "new"},
		},
	}}}
	want := map[string][]string{
		"eeee5": {MarkHas, MarkNot, MarkNot, MarkNot}, "dddd4": {MarkIn, MarkNext, MarkNot, MarkNot}, "cccc3": {MarkIn, MarkLeftOut, MarkNext, MarkNot},
		"bbbb2": {MarkIn, MarkHas, MarkWith, MarkNot}, "aaaa1": {MarkIn, MarkIn, MarkHas, MarkNot},
	}
	for _, row := range s.Commits(CommitFilter{}).Items {
		for i, mark := range row.Marks {
			if wanted := want[row.Commit.ID][i]; mark != wanted {
				t.Errorf("%s in %s is %q, want %q", row.Commit.ID, s.Snapshot.Chain.Stages[i].Environment, mark, wanted)
			}
		}
	}
	if got := s.FindCommits("cccc"); len(got) != 1 || len(s.FindCommits("ccc")) != 0 {
		t.Errorf("cccc is %v", got)
	}
}

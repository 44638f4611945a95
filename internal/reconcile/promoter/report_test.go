package promoter

import (
	"errors"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

const candidate = "0123456789abcdef0123456789abcdef01234567"

// TestSettleDecision: a decision that could not be applied waits, with the reason.
func TestSettleDecision(t *testing.T) {
	for name, test := range map[string]struct {
		state    promote.DecisionState
		err      error
		declined int
		proposed int
		want     promote.DecisionState
		reason   string
	}{
		"applied":                        {state: promote.Promotes, want: promote.Promotes, reason: "decided"},
		"failed":                         {state: promote.Promotes, err: errors.New("the server is down"), want: promote.Waiting, reason: "it is tried again: the server is down"},
		"an error where nothing was due": {state: promote.Current, err: errors.New("the server is down"), want: promote.Current, reason: "decided"},
		"declined": {state: promote.Waiting, declined: 7, want: promote.Waiting,
			reason: "pull request 7, which proposes 0123456, was closed; open it again, or promote another commit"},
		"proposed": {state: promote.Promotes, proposed: 7, want: promote.Waiting,
			reason: "pull request 7 of the control plane, which proposes it, is not merged"},
		"declined, and held": {state: promote.Held, declined: 7, want: promote.Held, reason: "decided"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stageState{spec: model.Stage{Name: "dev"}, err: test.err, declined: test.declined, proposed: test.proposed}
			d := promote.Decision{State: test.state, Candidate: candidate, Verdict: gate.Verdict{Status: gate.Pass, Reason: "decided"}}
			got := s.settleDecision(d)
			if got.State != test.want || got.Verdict.Reason != test.reason {
				t.Errorf("settled as %s, %q, want %s, %q", got.State, got.Verdict.Reason, test.want, test.reason)
			}
		})
	}
}

// TestReportWithheld: the report says why only a person may merge the output.
func TestReportWithheld(t *testing.T) {
	s := &stageState{memory: &memory{}, environment: Environment{Withheld: []publish.Withholding{{Cause: publish.CauseHold, Reason: "held"}}}}
	m := &Promoter{options: Options{Store: &status.Store{}}}
	m.reportChain(Policy{}, chainState{stages: []*stageState{s}, decisions: []promote.Decision{{}}})
	if r := m.options.Store.Snapshot().Chain.Stages[0]; len(r.Withheld) != 1 || r.Withheld[0].Reason != "held" {
		t.Errorf("withheld: %v", r.Withheld)
	}
}

// TestSummarize: what waits for something outside, and when a verdict may change first.
func TestSummarize(t *testing.T) {
	type found struct {
		stage    promote.Stage
		decision promote.Decision
	}
	passed := found{promote.Stage{Position: promote.Position{Commit: candidate, Proof: gate.Verdict{Status: gate.Pass}}}, promote.Decision{State: promote.Current}}
	unproven := passed
	unproven.stage.Proof = gate.Verdict{Status: gate.Wait, Parts: []gate.Verdict{{ValidUntil: noon.Add(time.Hour)}}}
	waiting := passed
	waiting.decision = promote.Decision{State: promote.Waiting, Verdict: gate.Verdict{ValidUntil: noon.Add(time.Minute)}}
	summarize := func(err error, unmerged bool, all ...found) roundResult {
		var c chainState
		for _, f := range all {
			c.stages, c.decisions = append(c.stages, &stageState{stage: f.stage, err: err, unmerged: unmerged, memory: &memory{}}), append(c.decisions, f.decision)
		}
		return c.summarize()
	}
	for name, test := range map[string]struct {
		err      error
		unmerged bool
		found    []found
		waiting  bool
		change   time.Time
	}{
		"all is done":          {found: []found{passed}},
		"no commit yet":        {found: []found{{decision: promote.Decision{State: promote.Current}}}},
		"a proof is missing":   {found: []found{unproven}, waiting: true, change: noon.Add(time.Hour)},
		"a candidate waits":    {found: []found{waiting}, waiting: true, change: noon.Add(time.Minute)},
		"the first change":     {found: []found{unproven, waiting}, waiting: true, change: noon.Add(time.Minute)},
		"an error":             {err: errors.New("down"), found: []found{passed}, waiting: true},
		"a merge that failed":  {unmerged: true, found: []found{passed}, waiting: true},
		"held by a person":     {found: []found{{decision: promote.Decision{State: promote.Held}}}, waiting: true},
		"stopped by a problem": {found: []found{{decision: promote.Decision{State: promote.Stopped}}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := summarize(test.err, test.unmerged, test.found...)
			if r.waiting != test.waiting || !r.nextChange.Equal(test.change) {
				t.Errorf("waiting %v, next change %v, want %v, %v", r.waiting, r.nextChange, test.waiting, test.change)
			}
			if r.observed != summarize(test.err, test.unmerged, test.found...).observed {
				t.Error("what is the same is summarized in two ways")
			}
		})
	}
	if summarize(nil, false, passed).observed == summarize(nil, false, waiting).observed {
		t.Error("different things are summarized in one way")
	}
}

// TestRenderVerdict: the reason names the first problem that stops, and counts the others.
func TestRenderVerdict(t *testing.T) {
	one := problem.Problem{Summary: "no such template"}
	warning := problem.Problem{Summary: "unused", Warning: true}
	for name, test := range map[string]struct {
		problems problem.List
		want     string
	}{
		"one":                {problem.List{warning, one}, one.String()},
		"several":            {problem.List{one, {Summary: "another"}, {Summary: "a third"}}, one.String() + ", and 2 more"},
		"none but a failure": {nil, "1 problem stops it"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Environment{RenderFailure: "1 problem stops it", Problems: test.problems}
			if v := e.renderVerdict(); v.Status != gate.Fail || v.Kind != gate.KindProblems || v.Reason != test.want {
				t.Errorf("verdict %+v, want %q", v, test.want)
			}
		})
	}
}

package promoter

import (
	"errors"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

const candidate = "0123456789abcdef0123456789abcdef01234567"

// TestNewReport: a decision that could not be applied is shown as waiting, with the reason.
func TestNewReport(t *testing.T) {
	for name, test := range map[string]struct {
		state    promote.DecisionState
		err      error
		declined int
		want     promote.DecisionState
		reason   string
	}{
		"applied":                        {state: promote.Promotes, want: promote.Promotes, reason: "decided"},
		"failed":                         {state: promote.Promotes, err: errors.New("the server is down"), want: promote.Waiting, reason: "it is tried again: the server is down"},
		"an error where nothing was due": {state: promote.Current, err: errors.New("the server is down"), want: promote.Current, reason: "decided"},
		"declined": {state: promote.Waiting, declined: 7, want: promote.Waiting,
			reason: "pull request 7, which proposes 0123456, was closed; open it again, or promote another commit"},
		"declined, and held": {state: promote.Held, declined: 7, want: promote.Held, reason: "decided"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stageState{spec: model.Stage{Name: "dev"}, err: test.err, declined: test.declined}
			d := promote.Decision{State: test.state, Candidate: candidate, Verdict: gate.Verdict{Status: gate.Pass, Reason: "decided"}}
			r := s.newReport(d, promote.History{})
			if r.Next.State != test.want || r.Next.Verdict.Reason != test.reason {
				t.Errorf("reported %s, %q, want %s, %q", r.Next.State, r.Next.Verdict.Reason, test.want, test.reason)
			}
		})
	}
}

// TestReportWithheld: the report says why only a person may merge the output.
func TestReportWithheld(t *testing.T) {
	s := &stageState{environment: Environment{Withheld: []status.Withheld{{Cause: "hold", Reason: "held"}}}}
	if r := s.newReport(promote.Decision{}, promote.History{}); len(r.Withheld) != 1 || r.Withheld[0].Reason != "held" {
		t.Errorf("withheld: %v", r.Withheld)
	}
}

// TestSummarizeRound: what waits for something outside, and when a verdict may change first.
func TestSummarizeRound(t *testing.T) {
	passed := status.Stage{Commit: candidate, Proof: gate.Verdict{Status: gate.Pass}, Next: promote.Decision{State: promote.Current}}
	unproven := passed
	unproven.Proof = gate.Verdict{Status: gate.Wait, Parts: []gate.Verdict{{ValidUntil: noon.Add(time.Hour)}}}
	waiting := passed
	waiting.Next = promote.Decision{State: promote.Waiting, Verdict: gate.Verdict{ValidUntil: noon.Add(time.Minute)}}
	for name, test := range map[string]struct {
		err      error
		unmerged bool
		reports  []status.Stage
		waiting  bool
		change   time.Time
	}{
		"all is done":          {reports: []status.Stage{passed}},
		"no commit yet":        {reports: []status.Stage{{Next: promote.Decision{State: promote.Current}}}},
		"a proof is missing":   {reports: []status.Stage{unproven}, waiting: true, change: noon.Add(time.Hour)},
		"a candidate waits":    {reports: []status.Stage{waiting}, waiting: true, change: noon.Add(time.Minute)},
		"the first change":     {reports: []status.Stage{unproven, waiting}, waiting: true, change: noon.Add(time.Minute)},
		"an error":             {err: errors.New("down"), reports: []status.Stage{passed}, waiting: true},
		"a merge that failed":  {unmerged: true, reports: []status.Stage{passed}, waiting: true},
		"held by a person":     {reports: []status.Stage{{Next: promote.Decision{State: promote.Held}}}, waiting: true},
		"stopped by a problem": {reports: []status.Stage{{Next: promote.Decision{State: promote.Stopped}}}},
	} {
		t.Run(name, func(t *testing.T) {
			stages := make([]*stageState, len(test.reports))
			for i := range stages {
				stages[i] = &stageState{err: test.err, unmerged: test.unmerged}
			}
			r := summarizeRound(stages, test.reports)
			if r.waiting != test.waiting || !r.nextChange.Equal(test.change) {
				t.Errorf("waiting %v, next change %v, want %v, %v", r.waiting, r.nextChange, test.waiting, test.change)
			}
			if r.observed != summarizeRound(stages, test.reports).observed {
				t.Error("the same reports are summarized in two ways")
			}
		})
	}
	if summarizeRound([]*stageState{{}}, []status.Stage{passed}).observed == summarizeRound([]*stageState{{}}, []status.Stage{waiting}).observed {
		t.Error("different reports are summarized in one way")
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
			if v := e.renderVerdict(); v.Status != gate.Fail || v.Gate != status.ProblemsGate || v.Reason != test.want {
				t.Errorf("verdict %+v, want %q", v, test.want)
			}
		})
	}
}

package promoter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// newReport returns the report of a stage. A decision that could not be applied is shown as
// waiting.
func (s *stageState) newReport(d promote.Decision, h promote.History) status.Stage {
	var blocked *problem.Refusal
	if errors.Is(s.err, publish.ErrBlocked) && errors.As(s.err, &blocked) && (d.State == promote.Promotes || d.State == promote.Waiting) { // by a person, until a person acts
		d.State, d.Verdict.Status, d.Verdict.Reason = promote.Waiting, gate.Wait, fmt.Sprintf("%s; %s", s.err, blocked.Hint())
	} else if s.err != nil && d.State == promote.Promotes {
		d.State, d.Verdict.Status, d.Verdict.Reason = promote.Waiting, gate.Wait, "it is tried again: "+s.err.Error()
	}
	if s.declined != 0 && d.State != promote.Held {
		d.State, d.Verdict.Status = promote.Waiting, gate.Wait
		d.Verdict.Reason = fmt.Sprintf("pull request %d, which proposes %s, was closed; open it again, or promote another commit", s.declined, promote.ShortID(d.Candidate))
	}
	r := status.Stage{
		Environment: s.spec.Name, After: s.spec.After, Commit: s.stage.Commit, Since: s.stage.PromotedAt, Merged: s.stage.Merged,
		Deployed: s.facts.DeployedAt, Hold: s.stage.HoldReason, Withheld: s.environment.Withheld, Proof: s.stage.Proof, Next: d,
	}
	if s.stage.Commit != "" {
		r.Behind = h.CountNewer(s.stage.Commit)
	}
	return r
}

// logProblems logs that nothing is promoted, and why, once per problem.
func (m *Promoter) logProblems(problems problem.List) {
	p, stops := problems.FirstStopping()
	if !stops {
		m.loggedProblem = ""
		return
	}
	if p.String() != m.loggedProblem {
		m.options.Logger.Warn("nothing is promoted until this is mended", "problem", p.String(), "hint", p.Hint)
	}
	m.loggedProblem = p.String()
}

// logError logs the error of an environment once.
func (m *Promoter) logError(s *stageState) {
	text := ""
	if s.err != nil {
		text = s.err.Error()
	}
	if text != "" && text != s.memory.loggedError {
		m.options.Logger.Warn("an environment's promotion could not be looked at, or done", "environment", s.spec.Name, "error", s.err)
	}
	s.memory.loggedError = text
}

// summarizeRound returns what the reports of a round mean for the next one.
func summarizeRound(stages []*stageState, reports []status.Stage) roundResult {
	var r roundResult
	var observed strings.Builder
	for i, s := range reports {
		fmt.Fprintln(&observed, s.Environment, s.Commit, s.Merged, s.Proof.Status, s.Proof.Reason, s.Next.State, s.Next.Candidate, s.Next.Verdict.Reason)
		r.waiting = r.waiting || stages[i].err != nil || stages[i].unmerged || s.Next.State == promote.Waiting || s.Next.State == promote.Held || s.Commit != "" && s.Proof.Status != gate.Pass
		for _, v := range []gate.Verdict{s.Proof, s.Next.Verdict} {
			r.nextChange = gate.EarlierTime(r.nextChange, v.NextChange())
		}
	}
	r.observed = observed.String()
	return r
}

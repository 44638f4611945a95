package answer

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Blocker is what keeps all commits from an environment that has no candidate: the first environment before it that
// waits for something itself.
type Blocker struct {
	Environment string       `json:"environment"`
	Reason      string       `json:"reason"`
	Pull        *status.Pull `json:"pull,omitempty"`
	// Commits are the first of those that would come, newest first.
	Commits []Commit `json:"commits"`
}

// maxComing is how many commits are named that a blocker keeps.
const maxComing = 10

// findBlocker returns what keeps all commits from an environment; nil if it has a candidate, is held itself, or has
// the newest commit.
func (s Source) findBlocker(stage status.Stage) *Blocker {
	chain := s.Snapshot.Chain
	if stage.Behind == 0 || stage.Next.State != promote.Current || len(stage.After) == 0 {
		return nil
	}
	var first status.Stage
	for seen, after := map[string]bool{stage.Environment: true}, stage.After; len(after) > 0; {
		next, known := chain.FindStage(after[0])
		if i := slices.IndexFunc(after, s.isBlocking); i >= 0 {
			next, known = chain.FindStage(after[i])
		}
		if !known || seen[next.Environment] {
			break
		}
		seen[next.Environment], first, after = true, next, next.After
		if s.isBlocking(next.Environment) {
			break
		}
	}
	if first.Environment == "" || !s.isBlocking(first.Environment) {
		return nil
	}
	e, _ := s.Snapshot.FindEnvironment(first.Environment)
	e.Name = first.Environment
	its := s.describeEnvironment(e, &first)
	b := &Blocker{Environment: first.Environment, Reason: its.Reason, Pull: its.Pull, Commits: []Commit{}}
	has, newest := chain.IndexCommit(stage.Commit), chain.IndexCommit(cmp.Or(first.Next.Candidate, first.Commit))
	if newest >= 0 && has > newest {
		coming := chain.Commits[newest:has]
		for _, c := range coming[:min(len(coming), maxComing)] {
			b.Commits = append(b.Commits, *s.describeCommit(c.ID))
		}
	}
	return b
}

func (s Source) isBlocking(environment string) bool {
	stage, known := s.Snapshot.Chain.FindStage(environment)
	return known && stage.Commit != "" && (!stage.Merged || stage.Proof.Status != gate.Pass || stage.Next.State != promote.Current && !waitsForOthers(stage.Next))
}

// waitsForOthers reports whether a candidate waits until it is verified in the environments before, and for nothing else.
func waitsForOthers(next promote.Decision) bool {
	return next.State == promote.Waiting && len(next.Verdict.Parts) > 0 && !slices.ContainsFunc(next.Verdict.Parts, func(v gate.Verdict) bool {
		return v.Status != gate.Pass && v.Kind != gate.KindAfter
	})
}

// Package promote decides which commit of the base each environment gets next.
//
// What the package keeps true:
//   - A commit gets to an environment only after it was proven, for this very commit, in every
//     environment that comes directly before: merged there, and its proof satisfied. No environment
//     further up may be behind it: a rollback means that the commit is bad.
//   - A decision uses what was observed before it, so that a commit never takes two steps on one
//     observation: the second step needs a proof of the first one's result.
//   - An environment that is held, or whose commit is not on the base's branch, stays as it is. No
//     decision goes back to an older commit.
//   - A decision is a function of its arguments, and has a reason.
//
// The caller has two duties. Before an environment gets another commit, the last proof of its
// current one must be on record where [Stage].Proven is read from. And Proven must leave out the
// commits that the environment was rolled back behind, however long ago: the versions of its record
// tell.
package promote

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// Stage is the observed state of an environment.
type Stage struct {
	Name  string
	After []string // environments whose stages come first
	Queue model.Queue
	// HoldReason is why the environment is held; "" if it is not.
	HoldReason string
	// StoppedReason is why nothing can be decided about the environment; "" if something can.
	StoppedReason string
	// External reports that another system decides about the environment. Its state counts for the
	// environments that come after it, and nothing is promoted to it.
	External bool
	// Position is the position on the line that is decided about.
	Position
}

// Position is what an environment has of one line. An environment has one position per line.
type Position struct {
	// Commit is the promoted commit; "" if there is none.
	Commit string
	// Floor is the newest commit of which it has a part only, in addition to Commit; "" for none. It gets no older one.
	Floor string
	// Ceiling is the oldest commit of which it has a part, if that is older than Commit; "" for none. Others get no newer one from it.
	Ceiling string
	// Incomplete is why the environment lacks a part of Commit, so that no other gets Commit from it; "" if it lacks none.
	Incomplete string
	// PromotedAt is when it was promoted.
	PromotedAt time.Time
	// Merged reports whether the output branch holds the output of Commit, and HasFormer whether it holds one from before a
	// change of it that waits for a person.
	Merged, HasFormer bool
	// InWaves reports that the output branch is between the waves of the environment. No newer commit
	// supersedes Commit then, unless Proof failed.
	InWaves bool
	// Proof is the verdict on Commit here. A pass counts once the output is merged.
	Proof gate.Verdict
	// Proven are the commits whose last verdict here was a pass. Commits that failed later, or that
	// the environment was rolled back behind, are not among them.
	Proven map[string]bool
	// PartialProven reports that Proven may lack some, because not all could be read.
	PartialProven bool
}

// ExternalReason is why nothing is promoted to an environment that the settings leave out.
const ExternalReason = "the settings do not list it, so another daemon promotes to it"

// DecisionState is one word for a decision.
type DecisionState string

// The states of a decision.
const (
	Current  DecisionState = "current" // there is nothing newer for it
	Waiting  DecisionState = "waiting"
	Promotes DecisionState = "moves" // it gets To now
	Held     DecisionState = "held"
	Stopped  DecisionState = "stopped"
)

// Decision is what an environment should do next, and why.
type Decision struct {
	Environment string        `json:"environment"`
	State       DecisionState `json:"state"`
	Current     string        `json:"from,omitempty"` // the commit that it has
	// Candidate is the commit that it gets, or waits for; "" if there is none.
	Candidate string `json:"to,omitempty"`
	// Skipped are the verified commits between Current and Candidate that the environment skips, newest
	// first.
	Skipped []string     `json:"drops,omitempty"`
	Verdict gate.Verdict `json:"verdict"`
	// Unmerged reports that the Candidate supersedes Current before its output was merged, so that no cluster got it.
	Unmerged bool `json:"-"`
	// Error is the error of an operation that is retried, which keeps the commit back; "" for none.
	Error string `json:"error,omitempty"`
}

// EvaluateGates returns the verdict of an environment's gates on a commit.
type EvaluateGates func(environment, commit string) gate.Verdict

// DecideStages returns the decision about one line for every stage. Every name in After should be that of a stage;
// a stage that comes after a missing one waits.
func DecideStages(l Line, stages []Stage, enter EvaluateGates, now time.Time) []Decision {
	c := snapshot{l, stages}
	decisions := make([]Decision, len(stages))
	for i, s := range stages {
		decisions[i] = c.decideStage(s, enter, now)
	}
	return decisions
}

// CandidateCommits returns the commit that DecideStages will evaluate the gates of each environment
// for; "" where it will not evaluate them.
func CandidateCommits(l Line, stages []Stage) map[string]string {
	c := snapshot{l, stages}
	asked := map[string]string{}
	for _, s := range stages {
		if c.stoppedReason(s) == "" && !s.External {
			asked[s.Name], _ = c.findCandidate(s)
		}
	}
	return asked
}

// snapshot is all stages, and the line that goes through them.
type snapshot struct {
	line   Line
	stages []Stage
}

func (c snapshot) decideStage(s Stage, enter EvaluateGates, now time.Time) Decision {
	d := Decision{Environment: s.Name, Current: s.Commit}
	if why := c.stoppedReason(s); why != "" {
		d.State, d.Verdict = Stopped, gate.Verdict{Gate: s.Name, Status: gate.Fail, Reason: why}
		return d
	}
	if s.External {
		d.State, d.Verdict = Held, gate.Verdict{Gate: s.Name, Status: gate.Wait, Reason: ExternalReason}
		return d
	}
	d.Candidate, d.Skipped = c.findCandidate(s)
	if d.Candidate == "" {
		return c.decideWithoutCandidate(s, d)
	}
	parts := []gate.Verdict{c.provenVerdict(s, d.Candidate)}
	if s.HoldReason != "" {
		parts = append(parts, gate.Verdict{Gate: "hold", Status: gate.Wait, Reason: heldReason(s)})
	}
	gates := enter(s.Name, d.Candidate)
	if gates.Status == "" {
		gates = gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: verdictReason(gates)}
	}
	parts = append(parts, queueVerdict(s, now), c.settledVerdict(s), gates)
	d.Verdict, d.Unmerged = gate.CombineVerdicts(s.Name, parts), s.supersedesUnmerged()
	switch {
	case s.HoldReason != "":
		d.State, d.Verdict.Reason, d.Verdict.WaitsFor, d.Verdict.NamesTime = Held, heldReason(s), "", false
	case d.Verdict.Status == gate.Pass:
		d.State, d.Verdict.Reason = Promotes, fmt.Sprintf("%s may have %s", s.Name, c.line.describe(d.Candidate))
	default:
		d.State = Waiting
	}
	return d
}

// stoppedReason returns why nothing can be decided about a stage; "" if something can.
func (c snapshot) stoppedReason(s Stage) string {
	if s.StoppedReason == "" && s.Commit != "" && !c.line.Contains(s.Commit) {
		return fmt.Sprintf("commit %s is not on %s", text.ShortCommit(s.Commit), c.line.describeOrigin())
	}
	return s.StoppedReason
}

// findCandidate returns the commit that a stage would get, by its queue, and the proven ones that
// it would skip; "" if there is none.
func (c snapshot) findCandidate(s Stage) (string, []string) {
	begins := s.Commit == "" // one that begins does not replay history
	pool := c.eligibleCommits(s)
	switch {
	case len(pool) == 0:
		return "", nil
	case begins:
		return pool[0], nil
	case s.Queue.Policy == model.QueueEvery:
		return pool[len(pool)-1], nil
	}
	return pool[0], pool[1:]
}

// eligibleCommits returns the commits that are newer than a stage's and proven in all stages
// directly before it, newest first.
func (c snapshot) eligibleCommits(s Stage) []string {
	var pool []string
	reach := c.reachableIndex(s)
	for i, commit := range c.line.newerCommits(s.Commit) {
		isUnproven := func(name string) bool {
			u := c.findStage(name)
			return u == nil || !c.isProven(*u, commit)
		}
		isBelow := s.Floor != "" && commit != s.Floor && !c.line.IsNewer(commit, s.Floor)
		if i >= reach && !isBelow && c.line.barred[commit] == "" && !slices.ContainsFunc(s.After, isUnproven) {
			pool = append(pool, commit)
		}
	}
	return pool
}

// reachableIndex returns the index of the newest commit that all environments before a stage, near
// and far, have or contain. A commit that is not on the line limits only those directly after
// it.
func (c snapshot) reachableIndex(s Stage) int {
	reach := 0
	for _, u := range c.upstreamStages(s) {
		if u.Commit == "" {
			return len(c.line.commits)
		}
		reach = max(reach, c.line.reachedIndex(cmp.Or(u.Ceiling, u.Commit)))
	}
	return reach
}

func (c snapshot) upstreamStages(s Stage) []*Stage {
	var found []*Stage
	for names := slices.Clip(s.After); len(names) > 0; names = names[1:] {
		if u := c.findStage(names[0]); u != nil && !slices.Contains(found, u) {
			found, names = append(found, u), append(names, u.After...)
		}
	}
	return found
}

// isProven reports whether a commit is proven in a stage. The current commit is judged by its proof
// now. An earlier one is judged by its last verdict, unless the stage was rolled back behind it.
func (c snapshot) isProven(s Stage, commit string) bool {
	if c.line.barred[commit] != "" {
		return false
	}
	if s.Commit == commit {
		return s.StoppedReason == "" && s.Floor == "" && s.Incomplete == "" && s.Merged && s.Proof.Status == gate.Pass
	}
	return s.Proven[commit] && c.line.IsNewer(s.Commit, commit)
}

// findStage returns the stage of a name; nil if there is none.
func (c snapshot) findStage(name string) *Stage {
	for i := range c.stages {
		if c.stages[i].Name == name {
			return &c.stages[i]
		}
	}
	return nil
}

// Package promote decides which commit of the base each environment should get next.
//
// What the package keeps true:
//   - A commit gets to an environment only after it was proven in every environment
//     that it comes directly after: merged, and its proof satisfied, there, for this
//     very commit. Nothing else counts as proven. And no environment further up may be
//     behind it: one that went back has said that the commit is bad.
//   - A step is decided from what was observed before it, so that no commit takes two
//     of them on one fact: the second needs a proof of what the first has done.
//   - An environment that is held, or that has a commit which is not on the base's
//     branch, stays as it is; no step goes back to an older commit.
//   - A decision is a function of its arguments, and has a reason.
//
// Two things the caller owes. Before an environment gets another commit, what was last
// found of the one that it has is on record where [Stage].Proven is read from. And
// Proven leaves out what the environment has gone back behind, however long ago that
// was: the versions of its record say so.
package promote

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// Stage is what is known of an environment.
type Stage struct {
	Name  string
	After []string // environments whose stages come first
	Queue model.Queue
	// Commit is the one that it was given; "" if it was given none.
	Commit string
	// Since is when.
	Since time.Time
	// Merged says that the output branch holds the output of Commit.
	Merged bool
	// Proof is the verdict on Commit here. That it passes counts once it is merged.
	Proof gate.Verdict
	// Proven are the commits of which the last word here was that they are proven. One
	// that failed later, or that the environment went back behind, is not among them.
	Proven map[string]bool
	// Partial says that Proven may lack some, because not all could be read.
	Partial bool
	// Hold says why somebody has it stay as it is; "" if nobody has.
	Hold string
	// Stopped says why nothing can be decided about it; "" if something can.
	Stopped string
	// Others says why others decide about it; "" if nobody does. What is written of it
	// counts for those that come after it, and it gets nothing from here.
	Others string
}

// State is one word for a decision.
type State string

// The states of a decision.
const (
	Current State = "current" // there is nothing newer for it
	Waiting State = "waiting"
	Moves   State = "moves" // it gets To now
	Held    State = "held"
	Stopped State = "stopped"
)

// Decision is what an environment should do next, and why.
type Decision struct {
	Environment string `json:"environment"`
	State       State  `json:"state"`
	From        string `json:"from,omitempty"` // the commit that it has
	// To is the commit that it gets, or is waiting for; "" if there is none.
	To string `json:"to,omitempty"`
	// Drops are proven commits between the two that it will not get, newest first.
	Drops   []string     `json:"drops,omitempty"`
	Verdict gate.Verdict `json:"verdict"`
}

// Enter says whether a commit may enter an environment: the verdict of its gates.
type Enter func(environment, commit string) gate.Verdict

// Next gives for every stage what it should do next. Every name that a stage comes
// after should be that of a stage; what comes after one that is missing waits.
func Next(h History, stages []Stage, enter Enter, now time.Time) []Decision {
	c := chain{h, stages}
	decisions := make([]Decision, len(stages))
	for i, s := range stages {
		decisions[i] = c.decide(s, enter, now)
	}
	return decisions
}

// Candidates gives the commits that Next will ask the gates of each environment about;
// "" where it will not ask.
func Candidates(h History, stages []Stage) map[string]string {
	c := chain{h, stages}
	asked := map[string]string{}
	for _, s := range stages {
		if c.stopped(s) == "" && s.Others == "" {
			asked[s.Name], _ = c.candidate(s)
		}
	}
	return asked
}

// chain is all stages, and the commits that go through them.
type chain struct {
	History
	stages []Stage
}

func (c chain) decide(s Stage, enter Enter, now time.Time) Decision {
	d := Decision{Environment: s.Name, From: s.Commit}
	if why := c.stopped(s); why != "" {
		d.State, d.Verdict = Stopped, gate.Verdict{Gate: s.Name, Status: gate.Fail, Reason: why}
		return d
	}
	if s.Others != "" {
		d.State, d.Verdict = Held, gate.Verdict{Gate: s.Name, Status: gate.Wait, Reason: s.Others}
		return d
	}
	d.To, d.Drops = c.candidate(s)
	if d.To == "" {
		return c.nothing(s, d)
	}
	parts := []gate.Verdict{c.provenBefore(s, d.To)}
	if s.Hold != "" {
		parts = append(parts, gate.Verdict{Gate: "hold", Status: gate.Wait, Reason: held(s)})
	}
	parts = append(parts, queueVerdict(s, now), settled(s), answered(enter(s.Name, d.To)))
	d.Verdict = gate.All(s.Name, parts)
	switch {
	case s.Hold != "":
		d.State, d.Verdict.Reason = Held, held(s)
	case d.Verdict.Status == gate.Pass:
		d.State, d.Verdict.Reason = Moves, fmt.Sprintf("%s may have %s", s.Name, Short(d.To))
	default:
		d.State = Waiting
	}
	return d
}

// stopped says why nothing can be decided about a stage; "" if something can.
func (c chain) stopped(s Stage) string {
	if s.Stopped == "" && s.Commit != "" && !c.Has(s.Commit) {
		return fmt.Sprintf("commit %s is not on the base's branch", Short(s.Commit))
	}
	return s.Stopped
}

// candidate gives the commit that a stage would get, by its queue, and the proven ones
// that it would never get then; "" if there is none.
func (c chain) candidate(s Stage) (string, []string) {
	begins := s.Commit == "" // one that begins does not replay history
	pool := c.pool(s)
	switch {
	case len(pool) == 0:
		return "", nil
	case begins:
		return pool[0], nil
	case s.Queue.Policy == model.Each:
		return pool[len(pool)-1], nil
	}
	return pool[0], pool[1:]
}

// pool gives the commits that are newer than what a stage has, and were proven before
// it; newest first.
func (c chain) pool(s Stage) []string {
	var pool []string
	reach := c.reach(s)
	for i, commit := range c.after(s.Commit) {
		if i >= reach && c.isProvenBefore(s, commit) {
			pool = append(pool, commit)
		}
	}
	return pool
}

// reach gives the index of the newest commit that all environments before a stage, near
// and far, have or are beyond. Where one stands whose commit is not in the history is
// not known, and that stops nobody but those who come directly after it.
func (c chain) reach(s Stage) int {
	reach := 0
	for _, u := range c.before(s) {
		if u.Commit == "" {
			return len(c.commits)
		}
		reach = max(reach, c.reached(u.Commit))
	}
	return reach
}

// before gives the stages that a stage comes after, near ones first, then the others.
func (c chain) before(s Stage) []*Stage {
	var found []*Stage
	for names := s.After; len(names) > 0; {
		var further []string
		for _, name := range names {
			if u := c.stage(name); u != nil && !slices.Contains(found, u) {
				found = append(found, u)
				further = append(further, u.After...)
			}
		}
		names = further
	}
	return found
}

// isProvenBefore reports whether a commit was proven in all environments that a stage
// comes directly after.
func (c chain) isProvenBefore(s Stage, commit string) bool {
	for _, name := range s.After {
		u := c.stage(name)
		if u == nil || !c.isProven(*u, commit) {
			return false
		}
	}
	return true
}

// isProven reports whether a commit is proven in a stage. What runs there is judged as
// it is now; what has run there, by the last word on it, unless the stage has gone back
// behind it: that says that the commit was bad.
func (c chain) isProven(s Stage, commit string) bool {
	if s.Commit == commit {
		return s.Stopped == "" && s.Merged && s.Proof.Status == gate.Pass
	}
	return s.Proven[commit] && c.Newer(s.Commit, commit)
}

// stage finds a stage by its name; nil if there is none.
func (c chain) stage(name string) *Stage {
	for i := range c.stages {
		if c.stages[i].Name == name {
			return &c.stages[i]
		}
	}
	return nil
}

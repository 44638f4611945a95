package promote_test

import (
	"math/rand/v2"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// reading is what a cycle could read of an environment, and what it could not do.
type reading struct {
	stage    promote.Stage
	readable bool // its proof
	mute     bool // its statuses cannot be written
}

// cycle is what a daemon does at a time: reads, decides, says on the forge what it has
// found, and then takes the steps, some of them later.
func (w *world) cycle(rng *rand.Rand) {
	for _, e := range w.envs {
		if e.direct {
			w.merge(e)
		}
	}
	h := promote.NewLine(w.base)
	readings := make([]reading, len(w.envs))
	stages := make([]promote.Stage, len(w.envs))
	for i, e := range w.envs {
		readings[i] = w.read(e, rng)
		stages[i] = readings[i].stage
	}
	asked := promote.CandidateCommits(h, stages)
	answers := map[string]gate.Status{}
	enter := func(environment, commit string) gate.Verdict {
		if asked[environment] != commit {
			w.referee.failf("%s: Next asks for %s, and %q is the candidate", environment, commit, asked[environment])
		}
		v := w.enters(w.env(environment), commit)
		if w.fault(rng) {
			v = gate.Verdict{} // nobody answers
		}
		answers[environment] = v.Status
		return v
	}
	decisions := promote.DecideStages(h, stages, enter, w.now)
	w.referee.compare(stages, decisions, answers)
	w.referee.observe(readings)
	for i, e := range w.envs {
		said := w.tell(h, e, readings[i])
		d := decisions[i]
		w.say("cycle %s: %s %q -> %q: %s", e.name, d.State, d.Current, d.Candidate, d.Verdict.Reason)
		if d.State != promote.Promotes {
			e.pending = nil
			continue
		}
		if !said { // what is not on record must not be left behind, nor by what was decided before
			e.pending = nil
			continue
		}
		w.referee.decided(e, d, readings, decisions)
		e.pending = &step{d.Current, d.Candidate, e.version}
	}
	for _, e := range w.envs {
		if w.healed || rng.IntN(4) > 0 {
			w.land(e)
		}
	}
}

func (w *world) fault(rng *rand.Rand) bool { return w.faulty && !w.healed && rng.IntN(5) == 0 }

func (w *world) env(name string) *env { return w.envs[name[0]-'a'] }

// read gives what is known of an environment in a cycle.
func (w *world) read(e *env, rng *rand.Rand) reading {
	r := reading{readable: !w.fault(rng), mute: w.fault(rng)}
	s := promote.Stage{Name: e.name, Queue: e.queue, HoldReason: e.hold, StoppedReason: e.broken, Position: promote.Position{Commit: e.record, PromotedAt: e.since, Merged: e.merged(), Proven: map[string]bool{}}}
	for _, u := range e.after {
		s.After = append(s.After, u.name)
	}
	if e.pinned && e.record != "" {
		s.Incomplete = "a part of it is pinned"
	}
	switch {
	case r.readable:
		s.Proof = e.health(w.now)
	case rng.IntN(2) == 0:
		s.Proof = gate.Verdict{Gate: "health", Status: gate.Wait, Reason: "the forge does not answer"}
	}
	s.PartialProven = w.fault(rng)
	for _, c := range w.base {
		if e.statuses[c] == gate.Pass && (!s.PartialProven || rng.IntN(4) == 0) {
			s.Proven[c] = true
		}
	}
	r.stage = s
	return r
}

// tell writes statuses, and reports whether all that should be on record is.
func (w *world) tell(h promote.Line, e *env, r reading) bool {
	if r.mute || !r.readable {
		return e.record == ""
	}
	if s := r.stage; h.Contains(s.Commit) && s.StoppedReason == "" {
		e.statuses[s.Commit] = e.proves(w.now)
	}
	for _, c := range h.Commits() { // what it went back behind
		if h.Contains(r.stage.Commit) && h.IsNewer(c, r.stage.Commit) && r.stage.Proven[c] {
			e.statuses[c] = gate.Fail
		}
	}
	e.touched = e.touched && r.stage.PartialProven
	return true
}

// land carries out a step, unless somebody has written to the branch since it was
// decided.
func (w *world) land(e *env) {
	p := e.pending
	e.pending = nil
	if p == nil || p.version != e.version {
		return
	}
	if e.hold != "" || e.record != p.from {
		w.referee.failf("%s: a step from %q to %s is carried out, and it has %q, held %q", e.name, p.from, p.to, e.record, e.hold)
	}
	w.write(e, p.to)
	w.say("%s gets %s", e.name, p.to)
}

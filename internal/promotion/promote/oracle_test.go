package promote_test

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// This is Next once more, as sets of commits, slowly and from the rules in prose:
//
//  1. Nothing is decided where an environment is stopped, or has a commit that the base
//     does not have.
//  2. PROVEN(u): what u has, if u is not stopped and has all of it, it is merged, and its proof passes;
//     and what its Proven has that is older than what u has.
//  3. BEYOND(a): the commits that a has or has passed. All, if it is not known where it
//     stands.
//  4. What an environment may get: what is newer than what it has, and in PROVEN of all
//     that it comes directly after, and in BEYOND of all that it comes after.
//  5. Of these it gets the oldest if each counts, else the newest, and what is older is
//     dropped. One that begins gets the newest, and drops nothing.
//  6. It has to be done with what it has: that failed; or was merged and is proven; or
//     not each counts, and it was not merged, or the environment comes after none. And it
//     must be sure of what was verified in it.
//  7. It gets nothing if it is held or pinned, or the time of a batch is not over, or
//     its gates do not say yes; nor, if each counts, if it is not known of all commits
//     whether they were proven right before it.
//  8. If there is nothing that it may get, it waits for the newest that one right before
//     it has, if that is newer than what it has.

// set says of each commit of the base, newest first, whether it is in.
type set []bool

// answer is what of a decision the oracle knows.
type answer struct {
	State promote.DecisionState
	To    string
	Drops []string
}

type oracle struct {
	base   []string
	stages []promote.Stage
	now    time.Time
}

func (o oracle) those(in func(i int, commit string) bool) set {
	s := make(set, len(o.base))
	for i, c := range o.base {
		s[i] = in(i, c)
	}
	return s
}

// position is where a commit stands: 0 is the newest, and behind the oldest is "".
func (o oracle) position(commit string) (int, bool) {
	if commit == "" {
		return len(o.base), true
	}
	i := slices.Index(o.base, commit)
	return i, i >= 0
}

func (o oracle) proven(u promote.Stage) set {
	at, known := o.position(u.Commit)
	return o.those(func(i int, c string) bool {
		if c == u.Commit {
			return u.StoppedReason == "" && u.Incomplete == "" && u.Merged && u.Proof.Status == gate.Pass
		}
		return known && i > at && u.Proven[c]
	})
}

func (o oracle) beyond(a promote.Stage) set {
	at, known := o.position(a.Commit)
	return o.those(func(i int, _ string) bool { return !known || i >= at })
}

func (o oracle) intersect(a, b set) set {
	return o.those(func(i int, _ string) bool { return a[i] && b[i] })
}

// upstream says of each stage whether a stage comes after it, at once or in the end.
func (o oracle) upstream(s promote.Stage) []bool {
	found := make([]bool, len(o.stages))
	for range o.stages {
		for i, u := range o.stages {
			for j, by := range o.stages {
				found[i] = found[i] || slices.Contains(s.After, u.Name) || found[j] && slices.Contains(by.After, u.Name)
			}
		}
	}
	return found
}

func (o oracle) answer(s promote.Stage, enter gate.Status) answer {
	at, known := o.position(s.Commit)
	if s.StoppedReason != "" || !known {
		return answer{State: promote.Stopped}
	}
	pool := o.those(func(i int, _ string) bool { return i < at })
	unsure, awaited := s.PartialProven, at
	for i, far := range o.upstream(s) {
		u := o.stages[i]
		if far {
			pool = o.intersect(pool, o.beyond(u))
		}
		if slices.Contains(s.After, u.Name) {
			pool = o.intersect(pool, o.proven(u))
			unsure = unsure || u.PartialProven && s.Queue.Policy == model.QueueEvery
			if j, ok := o.position(u.Commit); ok {
				awaited = min(awaited, j)
			}
		}
	}
	var a answer
	for i, in := range pool {
		if in {
			a.Drops = append(a.Drops, o.base[i])
		}
	}
	if len(a.Drops) == 0 {
		if awaited < at {
			a.To = o.base[awaited]
		}
	} else {
		a = o.pick(s, a.Drops)
	}
	a.State = o.state(s, a.To, len(a.To) > 0 && slices.Contains(pool, true), unsure && s.Commit != "", enter)
	return a
}

// pick chooses one of several commits, newest first.
func (o oracle) pick(s promote.Stage, pool []string) answer {
	switch {
	case s.Commit == "":
		return answer{To: pool[0]}
	case s.Queue.Policy == model.QueueEvery:
		return answer{To: pool[len(pool)-1]}
	}
	return answer{To: pool[0], Drops: pool[1:]}
}

func (o oracle) state(s promote.Stage, to string, may, unsure bool, enter gate.Status) promote.DecisionState {
	each := s.Queue.Policy == model.QueueEvery
	done := s.Commit == "" || s.Proof.Status == gate.Fail || s.Merged && s.Proof.Status == gate.Pass || !each && (!s.Merged || len(s.After) == 0)
	early := s.Queue.Policy == model.QueueBatch && s.Commit != "" && o.now.Sub(s.PromotedAt) < s.Queue.Every
	switch {
	case s.HoldReason != "":
		return promote.Held
	case to == "":
		return promote.Current
	case may && done && !unsure && !early && s.Queue.Policy != model.QueuePinned && enter == gate.Pass:
		return promote.Promotes
	}
	return promote.Waiting
}

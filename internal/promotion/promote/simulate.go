package promote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// Arrival is when a commit gets to an environment, as far as it can be predicted now.
type Arrival struct {
	Environment string       `json:"environment"`
	State       ArrivalState `json:"state"`
	// Time is since when the environment has the commit or a newer one, when it was promoted to it, or
	// when it is expected; zero if that is not known.
	Time time.Time `json:"at,omitzero"`
	// WaitsFor lists what the commit waits for, each with its environment, in the order in which
	// they come: "dev: 2 approvals".
	WaitsFor []ArrivalWait `json:"waits,omitempty"`
	// Delays are what has a known end besides, as WaitsFor: "prod: gate window until Mon 2026-11-30 09:00 UTC".
	// NotBefore is when the last of all that has is over, where the commit waits for something else too.
	Delays    []ArrivalWait `json:"delays,omitempty"`
	NotBefore time.Time     `json:"notBefore,omitzero"`
	Reason    string        `json:"reason"` // one sentence, without a full stop
	// Besides is what Reason says in addition to the first of WaitsFor; "" for nothing.
	Besides string `json:"-"`
	// With is the newer commit that brings the commit, which does not get there by itself; "" for none. The rest of the
	// arrival is then about that one.
	With string `json:"with,omitempty"`
	// Lanes are the lanes that bring all that the commit changes before the environment gets it as a whole.
	Lanes []string `json:"lanes,omitempty"`
}

// ArrivalWait is what a commit waits for, and in which environment. As a text it is "dev: 2 approvals".
type ArrivalWait struct{ Environment, What string }

// String returns the environment and what is waited for, on one line.
func (w ArrivalWait) String() string { return w.Environment + ": " + w.What }

// MarshalText returns the text of a wait.
func (w ArrivalWait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads the text of a wait: the name of an environment has no colon.
func (w *ArrivalWait) UnmarshalText(text []byte) error {
	w.Environment, w.What, _ = strings.Cut(string(text), ": ")
	return nil
}

// ArrivalState is one word for an arrival.
type ArrivalState string

// The states of an arrival.
const (
	ArrivalHas      ArrivalState = "has"      // it has the commit
	ArrivalProposed ArrivalState = "proposed" // it was promoted to the commit, whose newest output is not merged yet
	ArrivalReached  ArrivalState = "reached"  // it has a newer one
	ArrivalLeftOut  ArrivalState = "left-out" // it has a newer one, which contains it, and never had it
	ArrivalExpected ArrivalState = "expected" // at a time that is known, if all goes well
	ArrivalWaits    ArrivalState = "waits"    // for what has no known end
	ArrivalNever    ArrivalState = "never"    // unless a person changes something
)

// Better reports whether an arrival is surer or earlier than another one.
func (a Arrival) Better(than Arrival) bool {
	order := []ArrivalState{ArrivalHas, ArrivalProposed, ArrivalReached, ArrivalLeftOut, ArrivalExpected, ArrivalWaits, ArrivalNever}
	rank, other := slices.Index(order, a.State), slices.Index(order, than.State)
	switch {
	case rank != other:
		return rank < other
	case a.State == ArrivalExpected:
		return a.Time.Before(than.Time)
	}
	return a.State == ArrivalWaits && len(a.WaitsFor) < len(than.WaitsFor)
}

// ForecastFunc returns when the gates of an environment, or its proof, are satisfied for a commit
// if it gets there at a time and all goes well.
type ForecastFunc func(environment, commit string, from time.Time) gate.Forecast

// SimulateArrivals returns when a commit would get to each environment, by itself or with a newer one. A step itself takes
// no time here: gates, proofs and queues do.
func SimulateArrivals(l Line, stages []Stage, commit string, enter, proof ForecastFunc, now time.Time) []Arrival {
	f := simulation{snapshot{l, stages}, commit, enter, proof, now, map[string]*Arrival{}, map[string]Arrival{}}
	all := map[string]simulation{commit: f}
	arrivals := make([]Arrival, len(stages))
	for i, s := range stages {
		alone := f.findArrival(s)
		arrivals[i] = f.findContent(s, all)
		if newer := arrivals[i].With; newer != "" {
			arrivals[i].AddReason(fmt.Sprintf("it comes with the newer %s: %s", l.describe(newer), alone.Reason))
		}
	}
	return arrivals
}

type simulation struct {
	chain        snapshot
	commit       string
	enter, proof ForecastFunc
	now          time.Time
	known        map[string]*Arrival // nil for one that is being found out
	contents     map[string]Arrival  // of findContent
}

// findContent returns when a stage gets the commit, or else the first newer one that gets there. all has the simulations
// of other commits.
func (f simulation) findContent(s Stage, all map[string]simulation) Arrival {
	if a, found := f.contents[s.Name]; found {
		return a
	}
	a := f.findArrival(s)
	for _, newer := range f.carriers(s) {
		if a.State != ArrivalNever {
			break
		}
		other, begun := all[newer]
		if !begun {
			other = f
			other.commit, other.known, other.contents = newer, map[string]*Arrival{}, map[string]Arrival{}
			all[newer] = other
		}
		if with := other.findContent(s, all); with.State != ArrivalNever {
			with.With = cmp.Or(with.With, newer)
			a = with
		}
	}
	f.contents[s.Name] = a
	return a
}

// carriers returns the newer commits that a stage may get instead of the simulated one: what it gets next, what the stages
// before it have, the near ones first, and the head of the base.
func (f simulation) carriers(s Stage) (newer []string) {
	if pool := f.chain.eligibleCommits(s); len(pool) > 0 {
		newer = append(newer, pool[0])
	}
	for _, u := range f.chain.upstreamStages(s) {
		newer = append(newer, u.Commit)
	}
	newer = append(newer, f.chain.line.Head())
	return slices.DeleteFunc(newer, func(c string) bool {
		return !f.chain.line.Contains(f.commit) || !f.chain.line.IsNewer(c, f.commit)
	})
}

func (f simulation) findArrival(s Stage) Arrival {
	if a, begun := f.known[s.Name]; a != nil {
		return *a
	} else if begun {
		return Arrival{Environment: s.Name, State: ArrivalNever, Reason: fmt.Sprintf("%s comes after itself", s.Name)}
	}
	f.known[s.Name] = nil
	a := f.computeArrival(s)
	a.Environment = s.Name
	f.known[s.Name] = &a
	return a
}

func (f simulation) computeArrival(s Stage) Arrival {
	what := f.chain.line.describe(f.commit)
	switch {
	case !f.chain.line.Contains(f.commit):
		return Arrival{State: ArrivalNever, Reason: fmt.Sprintf("commit %s is not on the base's branch", what)}
	case s.Commit == f.commit && s.hasProblems():
		return Arrival{State: ArrivalProposed, Time: s.PromotedAt, Reason: fmt.Sprintf("it was promoted to %s, which has problems there: %s", what, verdictReason(s.Proof))}
	case s.Commit == f.commit && !s.Merged:
		return Arrival{State: ArrivalProposed, Time: s.PromotedAt, Reason: fmt.Sprintf("it was promoted to %s, and its newest output is not merged yet", what)}
	case s.Commit == f.commit:
		return Arrival{State: ArrivalHas, Time: s.PromotedAt, Reason: fmt.Sprintf("it has %s", what)}
	case f.chain.line.IsNewer(s.Commit, f.commit):
		return Arrival{State: ArrivalReached, Time: s.PromotedAt, Reason: fmt.Sprintf("it has a newer commit, %s", f.chain.line.describe(s.Commit))}
	}
	if why := f.chain.line.barred[f.commit]; why != "" {
		return Arrival{State: ArrivalNever, Reason: why}
	}
	way := route{earliest: f.now}
	for _, u := range f.chain.upstreamStages(s) {
		if slices.Contains(s.After, u.Name) {
			way.join(f.routeToProof(*u))
		} else if f.chain.line.IsNewer(f.commit, u.Commit) {
			way.join(f.routeToArrival(*u))
		}
	}
	for _, name := range s.After {
		if f.chain.findStage(name) == nil {
			way.block(unknownStageReason(name))
		}
	}
	f.addOwnWaits(s, &way)
	switch {
	case way.blockedReason == "":
		way.pass(s.Name, f.enter(s.Name, f.commit, way.earliest))
	case s.HoldReason != "":
		way.blockedReason += "; " + heldReason(s)
	}
	certain, overtaken := f.findOvertaking(s)
	return way.toArrival(f.now, certain, overtaken)
}

func (f simulation) routeToProof(u Stage) route {
	a := f.findArrival(u)
	way, promoted := newRoute(f.now, a), u.Commit == f.commit
	switch {
	case a.State == ArrivalNever:
		way.block(fmt.Sprintf("it does not reach %s", u.Name))
	case f.chain.isProven(u, f.commit):
	case a.State == ArrivalReached:
		way.block(fmt.Sprintf("it was not verified in %s, which has a newer commit", u.Name))
	case promoted && f.chain.stoppedReason(u) != "":
		way.wait(u.Name, "a fix of what stops it: "+f.chain.stoppedReason(u))
	case promoted && u.Incomplete != "":
		way.wait(u.Name, "the whole of it: "+u.Incomplete)
	case promoted && u.hasProblems():
		way.wait(u.Name, "its problems to be mended: "+verdictReason(u.Proof))
	case promoted && u.Proof.Status == gate.Fail:
		way.block(fmt.Sprintf("it failed in %s: %s", u.Name, verdictReason(u.Proof)))
	default:
		if a.State == ArrivalExpected {
			way.earliest = a.Time
		}
		way.pass(u.Name, f.proof(u.Name, f.commit, way.earliest))
		if a.State == ArrivalProposed && len(way.waits) == 0 {
			way.wait(u.Name, "its output to be merged")
		}
	}
	return way
}

func (f simulation) routeToArrival(u Stage) route {
	a := f.findArrival(u)
	way := newRoute(f.now, a)
	way.notBefore(a.Time)
	if a.State == ArrivalNever {
		way.wait(u.Name, "a newer commit, for it is behind this one")
	}
	return way
}

func (f simulation) addOwnWaits(s Stage, way *route) {
	if why := f.chain.stoppedReason(s); why != "" {
		way.wait(s.Name, "a fix of what stops it: "+why)
	}
	if s.External {
		way.wait(s.Name, ExternalReason)
	}
	if s.HoldReason != "" {
		way.wait(s.Name, "its hold to be released: "+s.HoldReason)
	}
	switch unsettled := f.chain.settledVerdict(s).Status == gate.Wait; {
	case unsettled && !s.Merged:
		way.wait(s.Name, f.chain.line.describe(s.Commit)+" to be merged")
	case unsettled && s.Proof.ValidUntil.IsZero():
		way.wait(s.Name, f.chain.line.describe(s.Commit)+" to be verified: "+verdictReason(s.Proof))
	case unsettled:
		way.notBefore(s.Proof.ValidUntil)
	}
	switch s.Queue.Policy {
	case model.QueuePinned:
		way.wait(s.Name, "a promotion by hand: it is pinned")
	case model.QueueBatch:
		if s.Commit != "" {
			way.notBefore(s.PromotedAt.Add(s.Queue.Every))
		}
	case model.QueueEvery:
		ahead := slices.DeleteFunc(f.chain.eligibleCommits(s), func(c string) bool { return !f.chain.line.IsNewer(f.commit, c) })
		if len(ahead) > 0 && s.Commit != "" {
			way.wait(s.Name, fmt.Sprintf("%s before it in the queue", text.Count(len(ahead), "commit")))
		}
	}
}

// findOvertaking returns whether a newer commit supersedes the simulated one, certainly or
// possibly: where a queue skips commits, the newest proven one wins.
func (f simulation) findOvertaking(s Stage) (certain bool, reason string) {
	if s.Queue.Policy == model.QueueEvery && s.Commit != "" {
		return false, ""
	}
	if pool := f.chain.eligibleCommits(s); len(pool) > 0 && f.chain.line.IsNewer(pool[0], f.commit) {
		return true, fmt.Sprintf("the newer commit %s supersedes it", f.chain.line.describe(pool[0]))
	}
	if newer := f.chain.line.newerCommits(f.commit); len(newer) > 0 && s.Queue.Policy != model.QueuePinned {
		return false, fmt.Sprintf("a newer commit may supersede it, such as %s", f.chain.line.describe(newer[0]))
	}
	return false, ""
}

// route is what lies between a commit and a stage.
type route struct {
	earliest      time.Time // not before
	waits         []ArrivalWait
	delays        []ArrivalWait // which have a known end
	blockedReason string        // why there is no way; "" if there is one
}

func newRoute(now time.Time, a Arrival) route {
	r := route{earliest: now, waits: slices.Clone(a.WaitsFor), delays: slices.Clone(a.Delays)}
	r.notBefore(a.NotBefore)
	return r
}

func (r *route) block(reason string) { r.blockedReason = cmp.Or(r.blockedReason, reason) }

func (r *route) wait(environment, what string) {
	r.waits = list.AddMissing(r.waits, ArrivalWait{environment, what})
}

func (r *route) notBefore(at time.Time) {
	if at.After(r.earliest) {
		r.earliest = at
	}
}

func (r *route) pass(environment string, f gate.Forecast) {
	r.notBefore(f.Time)
	switch {
	case f.WaitsFor != "":
		r.wait(environment, f.WaitsFor)
	case f.Time.IsZero():
		r.wait(environment, "a gate without a known end")
	}
	for _, d := range f.Delays {
		r.delays = list.AddMissing(r.delays, ArrivalWait{environment, d})
	}
}

func (r *route) join(other route) {
	r.notBefore(other.earliest)
	r.waits, r.delays = list.AddMissing(r.waits, other.waits...), list.AddMissing(r.delays, other.delays...)
	r.block(other.blockedReason)
}

func (r *route) toArrival(now time.Time, certain bool, overtaken string) Arrival {
	a := Arrival{State: ArrivalExpected, Time: r.earliest, WaitsFor: r.waits, Delays: r.delays, Reason: "every gate has a known end"}
	switch {
	case r.blockedReason != "":
		return Arrival{State: ArrivalNever, Reason: r.blockedReason}
	case certain:
		return Arrival{State: ArrivalNever, Reason: overtaken}
	case len(r.waits) > 0:
		a.State, a.Time, a.Reason = ArrivalWaits, time.Time{}, "it waits for "+r.waits[0].String()
		if r.earliest.After(now) {
			a.NotBefore = r.earliest
		}
	}
	if overtaken != "" {
		a.AddReason(overtaken)
	}
	return a
}

// AddReason adds a clause to the reason.
func (a *Arrival) AddReason(clause string) {
	a.Reason += "; " + clause
	if a.Besides != "" {
		a.Besides += "; "
	}
	a.Besides += clause
}

package promote

import (
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// Arrival is when a commit gets to an environment, as far as it can be predicted now.
type Arrival struct {
	Environment string       `json:"environment"`
	State       ArrivalState `json:"state"`
	// Time is since when the environment has the commit or a newer one, or when it is expected;
	// zero if that is not known.
	At time.Time `json:"at,omitzero"`
	// WaitsFor lists what the commit waits for, each with its environment, in the order in which
	// they come: "dev: 2 approvals".
	Waits  []string `json:"waits,omitempty"`
	Reason string   `json:"reason"` // one sentence, without a full stop
}

// ArrivalState is one word for an arrival.
type ArrivalState string

// The states of an arrival.
const (
	Has      ArrivalState = "has"      // it has the commit
	Reached  ArrivalState = "reached"  // it has a newer one
	Expected ArrivalState = "expected" // at a time that is known, if all goes well
	Waits    ArrivalState = "waits"    // for what has no known end
	Never    ArrivalState = "never"    // unless somebody changes something
)

// ForecastFunc returns when the gates of an environment, or its proof, are satisfied for the commit
// if it gets there at a time and all goes well.
type Forecast func(environment string, from time.Time) gate.Forecast

// SimulateArrivals returns when a commit would get to each environment. A step itself takes no time
// here: gates, proofs and queues do.
func Simulate(h History, stages []Stage, commit string, enter, proof Forecast, now time.Time) []Arrival {
	f := foresight{chain{h, stages}, commit, enter, proof, now, map[string]*Arrival{}}
	arrivals := make([]Arrival, len(stages))
	for i, s := range stages {
		arrivals[i] = f.arrival(s)
	}
	return arrivals
}

// simulation is one run of SimulateArrivals.
type foresight struct {
	chain        chain
	commit       string
	enter, proof Forecast
	now          time.Time
	known        map[string]*Arrival // nil for one that is being found out
}

func (f foresight) arrival(s Stage) Arrival {
	if a, begun := f.known[s.Name]; a != nil {
		return *a
	} else if begun {
		return Arrival{Environment: s.Name, State: Never, Reason: fmt.Sprintf("%s comes after itself", s.Name)}
	}
	f.known[s.Name] = nil
	a := f.find(s)
	a.Environment = s.Name
	f.known[s.Name] = &a
	return a
}

func (f foresight) find(s Stage) Arrival {
	what := Short(f.commit)
	switch {
	case !f.chain.history.Has(f.commit):
		return Arrival{State: Never, Reason: fmt.Sprintf("commit %s is not on the base's branch", what)}
	case s.Commit == f.commit:
		return Arrival{State: Has, At: s.Since, Reason: fmt.Sprintf("it has %s", what)}
	case f.chain.history.Newer(s.Commit, f.commit):
		return Arrival{State: Reached, At: s.Since, Reason: fmt.Sprintf("it has a newer commit, %s", Short(s.Commit))}
	}
	way := route{at: f.now}
	for _, u := range f.chain.before(s) {
		if slices.Contains(s.After, u.Name) {
			way.join(f.provenIn(*u))
		} else if f.chain.history.Newer(f.commit, u.Commit) {
			way.join(f.reachedIn(*u))
		}
	}
	for _, name := range s.After {
		if f.chain.stage(name) == nil {
			way.block(unknown(name))
		}
	}
	f.turn(s, &way)
	if way.never == "" {
		way.pass(s.Name, f.enter(s.Name, way.at))
	}
	return way.arrival(f.overtaken(s))
}

// routeToProof returns the route of the commit until it is proven in a stage that it comes after.
func (f foresight) provenIn(u Stage) route {
	a := f.arrival(u)
	way := route{at: f.now, waits: slices.Clone(a.Waits)}
	switch {
	case a.State == Never:
		way.block(fmt.Sprintf("it does not get to %s", u.Name))
	case f.chain.isProven(u, f.commit):
	case a.State == Reached:
		way.block(fmt.Sprintf("it was not proven in %s, which has a newer commit", u.Name))
	case a.State == Has && f.chain.stopped(u) != "":
		way.wait(u.Name, "what stops it to be mended: "+f.chain.stopped(u))
	case a.State == Has && u.Proof.Status == gate.Fail:
		way.block(fmt.Sprintf("it failed in %s: %s", u.Name, why(u.Proof)))
	default:
		if a.State == Expected {
			way.at = a.At
		}
		way.pass(u.Name, f.proof(u.Name, way.at))
		if a.State == Has && !u.Merged && len(way.waits) == 0 {
			way.wait(u.Name, "its output to be merged")
		}
	}
	return way
}

// routeToArrival returns the route until a stage further up is no longer behind the commit.
func (f foresight) reachedIn(u Stage) route {
	a := f.arrival(u)
	way := route{at: f.now, waits: a.Waits}
	way.notBefore(a.At)
	if a.State == Never {
		way.wait(u.Name, "a newer commit, for it is behind this one")
	}
	return way
}

// addOwnWaits adds what a stage itself waits for before its gates.
func (f foresight) turn(s Stage, way *route) {
	if why := f.chain.stopped(s); why != "" {
		way.wait(s.Name, "what stops it to be mended: "+why)
	}
	if s.Others != "" {
		way.wait(s.Name, s.Others)
	}
	if s.Hold != "" {
		way.wait(s.Name, "its hold to be released: "+s.Hold)
	}
	switch unsettled := settled(s).Status == gate.Wait; {
	case unsettled && !s.Merged:
		way.wait(s.Name, Short(s.Commit)+" to be merged")
	case unsettled && s.Proof.Until.IsZero():
		way.wait(s.Name, Short(s.Commit)+" to be proven: "+why(s.Proof))
	case unsettled:
		way.notBefore(s.Proof.Until)
	}
	switch s.Queue.Policy {
	case model.Pinned:
		way.wait(s.Name, "a promotion by hand: it is pinned")
	case model.Batch:
		if s.Commit != "" {
			way.notBefore(s.Since.Add(s.Queue.Every))
		}
	case model.Each:
		if ahead := f.ahead(s); ahead > 0 && s.Commit != "" {
			way.wait(s.Name, fmt.Sprintf("%s before it in the queue", commits(ahead)))
		}
	}
}

// countAhead counts the eligible commits of a stage that are older than the simulated one, and so
// come first.
func (f foresight) ahead(s Stage) int {
	n := 0
	for _, c := range f.chain.pool(s) {
		if f.chain.history.Newer(f.commit, c) {
			n++
		}
	}
	return n
}

func commits(n int) string {
	if n == 1 {
		return "1 commit"
	}
	return fmt.Sprintf("%d commits", n)
}

// findOvertaking returns whether a newer commit supersedes the simulated one, certainly or
// possibly: where a queue skips commits, the newest proven one wins.
func (f foresight) overtaken(s Stage) (certain bool, reason string) {
	if s.Queue.Policy == model.Each && s.Commit != "" {
		return false, ""
	}
	if pool := f.chain.pool(s); len(pool) > 0 && f.chain.history.Newer(pool[0], f.commit) {
		return true, fmt.Sprintf("%s comes in its place, which is newer", Short(pool[0]))
	}
	if newer := f.chain.history.after(f.commit); len(newer) > 0 && s.Queue.Policy != model.Pinned {
		return false, fmt.Sprintf("it may be dropped for a newer one, as %s", Short(newer[0]))
	}
	return false, ""
}

// route is what lies between a commit and a stage.
type route struct {
	at    time.Time // not before
	waits []string
	never string // why there is no way; "" if there is one
}

func (r *route) block(reason string) {
	if r.never == "" {
		r.never = reason
	}
}

func (r *route) wait(environment, what string) {
	if text := environment + ": " + what; !slices.Contains(r.waits, text) {
		r.waits = append(r.waits, text)
	}
}

func (r *route) notBefore(at time.Time) {
	if at.After(r.at) {
		r.at = at
	}
}

// pass adds the gates of an environment.
func (r *route) pass(environment string, f gate.Forecast) {
	r.notBefore(f.At)
	switch {
	case f.Waits != "":
		r.wait(environment, f.Waits)
	case f.At.IsZero():
		r.wait(environment, "what has no known end")
	}
}

// join adds what another route waits for.
func (r *route) join(other route) {
	r.notBefore(other.at)
	for _, w := range other.waits {
		if !slices.Contains(r.waits, w) {
			r.waits = append(r.waits, w)
		}
	}
	if other.never != "" {
		r.block(other.never)
	}
}

// toArrival returns the end of a route, where a newer commit may win, or certainly does.
func (r *route) arrival(certain bool, overtaken string) Arrival {
	a := Arrival{State: Expected, At: r.at, Waits: r.waits, Reason: "all that it needs has a known end"}
	switch {
	case r.never != "":
		return Arrival{State: Never, Reason: r.never}
	case certain:
		return Arrival{State: Never, Reason: overtaken}
	case len(r.waits) > 0:
		a.State, a.At, a.Reason = Waits, time.Time{}, "it waits for "+r.waits[0]
	}
	if overtaken != "" {
		a.Reason += "; " + overtaken
	}
	return a
}

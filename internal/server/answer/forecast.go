package answer

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Forecast is the answer of /api/v1/commits/{commit}/forecast: when a commit gets to each environment if all goes
// well, and what it waits for.
type Forecast struct {
	Commit   Commit            `json:"commit"`
	Arrivals []ForecastArrival `json:"arrivals"`
}

// ForecastArrival is when a commit gets to an environment.
type ForecastArrival struct {
	promote.Arrival
	Tone State `json:"tone"`
	// Waits is what the commit waits for: what has no known end in the order in which it comes, and then what has one.
	Waits []ForecastWait `json:"waitsFor,omitempty"`
	// Besides is what the reason says besides what the commit waits for; "" for nothing.
	Besides string `json:"besides,omitempty"`
}

// ForecastWait is one thing that a commit waits for in an environment.
type ForecastWait struct {
	Environment string `json:"environment"`
	What        string `json:"what"`
	// Pull is the pull request that is open there; nil for none.
	Pull *status.Pull `json:"pull,omitempty"`
}

var arrivalStates = map[promote.ArrivalState]State{
	promote.ArrivalHas: {Good, "has it"}, promote.ArrivalProposed: {Waiting, "proposed"}, promote.ArrivalReached: {Good, "has newer"}, promote.ArrivalLeftOut: {Unknown, "left out"}, promote.ArrivalExpected: {Busy, "expected"}, promote.ArrivalWaits: {Waiting, "waits"}, promote.ArrivalNever: {Stopped, "never"},
}

// NewForecast returns a simulation of a commit as an answer: an environment that was promoted to the commit and does
// not run it yet has the state that its journey has.
func (s Source) NewForecast(j Journey, arrivals []promote.Arrival) Forecast {
	f := Forecast{Commit: j.Commit, Arrivals: []ForecastArrival{}}
	for _, a := range arrivals {
		a.Reason = CleanText(a.Reason)
		one := ForecastArrival{Arrival: a, Tone: arrivalStates[a.State], Besides: a.Reason}
		if len(a.WaitsFor) > 0 {
			one.Besides = CleanText(a.Besides)
		}
		i := slices.IndexFunc(j.Stops, func(stop Stop) bool { return stop.Environment.Name == a.Environment })
		if i >= 0 && (j.Stops[i].Mark == MarkHas || j.Stops[i].Mark == MarkLane || j.Stops[i].Mark == MarkBack && a.State == promote.ArrivalReached) {
			one.Tone = j.Stops[i].State
		}
		if i >= 0 && j.Stops[i].Mark == MarkProposed {
			one.Tone, one.Time = j.Stops[i].State, j.Stops[i].Since
			one.Waits = []ForecastWait{{a.Environment, j.Stops[i].Environment.Reason, j.Stops[i].Environment.Pull}}
		}
		one.WaitsFor, one.Delays = list.Convert(a.WaitsFor, cleanWait), list.Convert(a.Delays, cleanWait)
		for n, w := range slices.Concat(one.WaitsFor, one.Delays) {
			wait := s.newForecastWait(w)
			if n >= len(one.WaitsFor) { // no pull request ends it
				wait.Pull = nil
			}
			one.Waits = append(one.Waits, wait)
		}
		f.Arrivals = append(f.Arrivals, one)
	}
	return f
}

func cleanWait(w promote.ArrivalWait) promote.ArrivalWait {
	return promote.ArrivalWait{Environment: w.Environment, What: CleanText(w.What)}
}

func (s Source) newForecastWait(wait promote.ArrivalWait) ForecastWait {
	w := ForecastWait{Environment: wait.Environment, What: wait.What}
	for _, e := range s.listEnvironments() {
		if e.Name == w.Environment {
			w.Pull = e.Pull
		}
	}
	return w
}

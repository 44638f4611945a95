package answer

import "github.com/fairlead-io/fairlead/internal/promotion/promote"

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
}

// arrivalStates are the states of arrivals.
var arrivalStates = map[promote.ArrivalState]State{
	promote.ArrivalHas: {Good, "has it"}, promote.ArrivalReached: {Good, "has newer"}, promote.ArrivalExpected: {Busy, "expected"}, promote.ArrivalWaits: {Waiting, "waits"}, promote.ArrivalNever: {Stopped, "never"},
}

// NewForecast returns a simulation as an answer.
func NewForecast(c Commit, arrivals []promote.Arrival) Forecast {
	f := Forecast{Commit: c, Arrivals: []ForecastArrival{}}
	for _, a := range arrivals {
		a.Reason = CleanText(a.Reason)
		for i, w := range a.WaitsFor {
			a.WaitsFor[i] = CleanText(w)
		}
		f.Arrivals = append(f.Arrivals, ForecastArrival{a, arrivalStates[a.State]})
	}
	return f
}

package webhook

import (
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	// oldest is the age from which an event is refused. Flux sends its events when they
	// happen and stops retrying after some minutes: an older one was recorded and
	// replayed, and may report as ready what no longer is.
	oldest = 24 * time.Hour
	// ahead is how far the clock of a cluster may be ahead of ours. Such an event counts
	// from now.
	ahead = 10 * time.Minute
)

// report handles an event of a cluster.
func (p *post) report(body []byte) answer {
	e, err := observe.ParseFlux(body)
	now := p.options.Now()
	switch {
	case errors.Is(err, observe.ErrNoReport):
		return ignored
	case errors.Is(err, observe.ErrNoTime):
		return noTime
	case err != nil:
		return noEvent
	case now.Sub(e.When) > oldest:
		return tooOld
	case e.When.Sub(now) > ahead:
		return tooEarly
	case !p.memory.isNew(now, keys(flux.name, "", body)...):
		return seen
	}
	if e.When.After(now) { // or else it would hide the cluster's next event
		e.When = now
	}
	p.options.Report(e)
	p.options.Wake(Event{Kind: Report, Action: wordOf(string(e.Phase))})
	return woken
}

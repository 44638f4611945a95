package webhook

import (
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	// maxEventAge is the age from which an event is refused. Flux sends its events when they
	// happen and stops retrying after some minutes: an older one was recorded and
	// replayed, and may report as ready what no longer is.
	maxEventAge = 24 * time.Hour
	// maxClockSkew is how far the clock of a cluster may be ahead of ours. Such an event counts
	// from now.
	maxClockSkew = 10 * time.Minute
)

// handleReport handles an event of a cluster.
func (p *receiver) handleReport(body []byte) response {
	e, err := observe.ParseFlux(body)
	now := p.options.Now()
	switch {
	case errors.Is(err, observe.ErrNoReport):
		return ignored
	case errors.Is(err, observe.ErrNoTime):
		return noTimestamp
	case err != nil:
		return notFluxEvent
	case now.Sub(e.When) > maxEventAge:
		return eventTooOld
	case e.When.Sub(now) > maxClockSkew:
		return eventInFuture
	}
	if e.When.After(now) { // or else it would hide the cluster's next event
		e.When = now
	}
	if !p.options.Report(e) {
		return repeated
	}
	p.options.Wake(Event{Kind: Report, Action: safeWord(string(e.Phase))})
	return woken
}

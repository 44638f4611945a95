package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func (s *site) findForecast(ctx context.Context, src answer.Source, q request) found {
	id := q.names[0]
	journey, known := src.Journey(id)
	if !known {
		f := findCommit(src, id)
		if f.redirect != "" {
			f.redirect += "/forecast"
		}
		return f
	}
	if journey.Branch != "" {
		return answerMissing(fmt.Sprintf("commit %s is of the branch of %s, and is not promoted", id, journey.Branch), "its page says where it is")
	}
	if journey.Commit.Unrendered { // a simulation is of what contains it
		return newFound(src.NewForecast(journey, nil))
	}
	if wait := s.simulations.admit(s.options.Now(), maxSimulations); wait > 0 {
		return failWith(http.StatusTooManyRequests, fmt.Sprintf("%d simulations began within a minute, which is the most", maxSimulations), fmt.Sprintf("ask again in %d s", int(wait.Seconds())+1))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), simulationTimeout)
	defer cancel()
	arrivals, err := s.options.Simulate(ctx, id)
	if err != nil {
		return s.refuseAnswer(ctx, q.path, err)
	}
	return newFound(src.NewForecast(journey, arrivals))
}

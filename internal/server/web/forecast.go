package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// forecastPath is the path of the forecast of a commit, which asks the forges.
const forecastPath = "/commits/{commit}/forecast"

// isForecast reports whether a path is that of the forecast of a commit.
func isForecast(path string) bool {
	return path == forecastPath || strings.HasPrefix(path, "/commits/") && strings.HasSuffix(path, "/forecast")
}

// findForecast returns when a commit gets to each environment, and what it waits for.
func (s *site) findForecast(ctx context.Context, src answer.Source, path string) found {
	id := strings.TrimSuffix(strings.TrimPrefix(path, "/commits/"), "/forecast")
	journey, known := src.Journey(id)
	if !known {
		f := findCommit(src, id)
		if f.redirect != "" {
			f.redirect += "/forecast"
		}
		return f
	}
	if journey.Commit.Unrendered { // a simulation is of what contains it
		return found{src.NewForecast(journey, nil), http.StatusOK, ""}
	}
	if wait := s.simulations.admit(s.options.Now(), maxSimulations); wait > 0 {
		return found{errorAnswer{fmt.Sprintf("%d simulations began within a minute, which is the most", maxSimulations), fmt.Sprintf("ask again in %d s", int(wait.Seconds())+1)}, http.StatusTooManyRequests, ""}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), simulationTimeout)
	defer cancel()
	arrivals, err := s.options.Simulate(ctx, id)
	if err != nil {
		return s.refuseAnswer(ctx, path, err)
	}
	return found{src.NewForecast(journey, arrivals), http.StatusOK, ""}
}

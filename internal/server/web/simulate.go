package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
)

const (
	// maxSimulations is how many simulations may begin within a minute: they ask the forges, and a
	// cycle waits for them.
	maxSimulations = 12
	// simulationTimeout bounds a simulation, with its wait for the cycle that runs.
	simulationTimeout = 20 * time.Second
	// lanesPath is the address of what lanes may do in an environment.
	lanesPath = api + "/environments/{name}/lanes"
	// maxRevision bounds the text of a revision.
	maxRevision = 256
)

// problemsAnswer is the answer where problems stop all promotions.
type problemsAnswer struct {
	errorAnswer
	Problems problem.List `json:"problems"`
}

func (s *site) serveSimulation(w http.ResponseWriter, r *http.Request) {
	revision := r.URL.Query().Get("commit")
	if revision == "" || len(revision) > maxRevision {
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{"the query names no commit", "name one of the base, as in /api/v1/simulate?commit=main"})
		return
	}
	answerFromCycle(s, w, r, func(ctx context.Context) (any, error) {
		arrivals, err := s.options.Simulate(ctx, revision)
		return append([]promote.Arrival{}, arrivals...), err
	})
}

// serveLanes answers what lanes may do in an environment: those of the Promotion, or each file and folder in a folder.
func serveLanes(s *site, w http.ResponseWriter, r *http.Request) {
	environment, each := r.PathValue("name"), r.URL.Query().Get("each")
	var lanes *model.Lanes
	if each != "" {
		var reason string
		lanes, reason = model.NewLanes(each)
		if reason != "" {
			s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{reason, "name a folder of the base, as in each=workloads/*"})
			return
		}
	}
	chain := s.options.Store.Snapshot().Chain
	if _, known := chain.FindStage(environment); !known {
		s.writeJSON(w, r, http.StatusNotFound, errorAnswer{fmt.Sprintf("there is no environment %q that is promoted to", environment), api + "/chain lists those that there are"})
		return
	}
	answerFromCycle(s, w, r, func(ctx context.Context) (any, error) {
		report, err := s.options.ExplainLanes(ctx, environment, lanes)
		if report == nil {
			return nil, err
		}
		return *report, err
	})
}

// answerFromCycle answers with what ask returns, which waits for the cycle that runs; nil is not found.
func answerFromCycle(s *site, w http.ResponseWriter, r *http.Request, ask func(context.Context) (any, error)) {
	if ready, reasons := s.options.Store.Snapshot().CheckReadiness(); !ready {
		s.refuseForNow(w, r, http.StatusServiceUnavailable, time.Minute, strings.Join(reasons, "; "))
		return
	}
	if wait := s.simulations.admit(s.options.Now(), maxSimulations); wait > 0 {
		s.refuseForNow(w, r, http.StatusTooManyRequests, wait, fmt.Sprintf("%d simulations began within a minute, which is the most", maxSimulations))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), simulationTimeout)
	defer cancel()
	of, err := ask(ctx)
	var unknown *promoter.UnknownCommitError
	var blocked *promoter.BlockedError
	var refused *problem.Refusal
	switch {
	case err == nil && of == nil:
		s.writeJSON(w, r, http.StatusNotFound, errorAnswer{"the Promotion has no lanes", "each=workloads/* says what they would change"})
	case err == nil:
		s.writeJSON(w, r, http.StatusOK, of)
	case errors.As(err, &unknown):
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{unknown.Error(), unknown.Hint()})
	case errors.As(err, &refused):
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{refused.Reason, refused.Advice})
	case errors.As(err, &blocked):
		s.writeJSON(w, r, http.StatusConflict, problemsAnswer{errorAnswer{blocked.Error(), "fix the problems in the control plane"}, blocked.Problems})
	case errors.Is(err, context.DeadlineExceeded):
		s.refuseForNow(w, r, http.StatusServiceUnavailable, time.Minute, "a cycle runs, and the simulation waits for its end")
	default:
		s.options.Logger.WarnContext(r.Context(), "a simulation failed", slog.String("query", r.URL.RawQuery), slog.Any("error", err))
		s.refuseForNow(w, r, http.StatusServiceUnavailable, time.Minute, "the simulation failed: "+err.Error())
	}
}

func (s *site) refuseForNow(w http.ResponseWriter, r *http.Request, code int, wait time.Duration, sentence string) {
	seconds := int(max(wait, time.Second).Seconds())
	w.Header().Set("Retry-After", fmt.Sprint(seconds))
	s.writeJSON(w, r, code, errorAnswer{sentence, fmt.Sprintf("try again in %d s", seconds)})
}

// admissions bounds how many questions begin that are work. The zero value is ready.
type admissions struct {
	mu    sync.Mutex
	began []time.Time // within the last minute
}

// admit counts a question, and returns 0; or how long to wait before the next one may begin, where as many
// as may begin within a minute have.
func (a *admissions) admit(now time.Time, most int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.began) > 0 && now.Sub(a.began[0]) >= time.Minute {
		a.began = a.began[1:]
	}
	if len(a.began) >= most {
		return a.began[0].Add(time.Minute).Sub(now)
	}
	a.began = append(a.began, now)
	return 0
}

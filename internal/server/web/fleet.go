package web

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// fleetQuestions are below this path.
const fleetQuestions = "/api/v1/fleet/"

func (s *site) fleetRoutes() []route {
	all := []route{{http.MethodPost, "/deployment_state", http.HandlerFunc(s.serveDeploymentState)}}
	for _, name := range fleetview.Names() {
		all = append(all, route{http.MethodGet, fleetQuestions + name, s.serveFleet(name)})
	}
	return all
}

// serveFleet answers a question about the fleet. A client that has the answer already gets none.
func (s *site) serveFleet(question string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.options.Fleet == nil {
			s.refuseWithoutLedger(w, r)
			return
		}
		answer, err := s.options.Fleet.Answer(r.Context(), question, r.URL.Query())
		if err != nil {
			s.refuseQuestion(w, r, err)
			return
		}
		s.writeTaggedJSON(w, r, answer)
	}
}

func (s *site) refuseWithoutLedger(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusNotFound, errorAnswer{"the daemon has no ledger", "write where its secret is into its settings, as ledger: {secret: {file: ledger-secret}}"})
}

func (s *site) refuseQuestion(w http.ResponseWriter, r *http.Request, err error) {
	var unknown *fleetview.UnknownError
	var unclear *fleetview.QueryError
	switch {
	case errors.As(err, &unknown):
		s.writeJSON(w, r, http.StatusNotFound, errorAnswer{unknown.Error(), unknown.Hint()})
	case errors.As(err, &unclear):
		s.writeJSON(w, r, http.StatusBadRequest, errorAnswer{unclear.Error(), unclear.Hint()})
	default:
		s.options.Logger.WarnContext(r.Context(), "the ledger cannot be asked", slog.String("path", r.URL.Path), slog.Any("error", err))
		s.writeJSON(w, r, http.StatusServiceUnavailable, errorAnswer{"the ledger cannot be asked now", "/readyz and the log of the daemon say why"})
	}
}

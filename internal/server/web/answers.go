package web

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	_ "embed" // openapi.json

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

//go:embed openapi.json
var openAPI string

// overview is the answer of /api/v1/status.
type overview struct {
	Version string   `json:"version"`
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why it is not ready
	// Overdue are the environments that have not finished a cycle for too long.
	Overdue []status.Unfinished `json:"overdue"`
	status.Snapshot
}

// failure is every answer that is not what was asked for.
type failure struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

func (s *site) alive(w http.ResponseWriter, r *http.Request) { s.text(w, r, http.StatusOK, "ok\n") }

func (s *site) ready(w http.ResponseWriter, r *http.Request) {
	now := s.options.Store.Snapshot()
	reasons, overdue := s.readiness(now)
	code, lines := http.StatusOK, []string{"ready"}
	if len(reasons) > 0 {
		code, lines = http.StatusServiceUnavailable, reasons
	}
	for _, u := range overdue {
		lines = append(lines, now.WhyOverdue(u))
	}
	s.text(w, r, code, strings.Join(lines, "\n")+"\n")
}

// readiness returns why the daemon is not ready, and the environments that are overdue,
// which do not make it unready.
func (s *site) readiness(now status.Snapshot) (reasons []string, overdue []status.Unfinished) {
	_, reasons = now.Ready()
	overdue = []status.Unfinished{}
	if s.options.OverdueAfter > 0 {
		var loop string
		overdue, loop = now.Overdue(s.options.Now(), s.options.OverdueAfter)
		if loop != "" {
			reasons = append(reasons, loop)
		}
	}
	return reasons, overdue
}

func (s *site) status(w http.ResponseWriter, r *http.Request) {
	now := s.options.Store.Snapshot()
	reasons, overdue := s.readiness(now)
	s.json(w, r, http.StatusOK, overview{s.options.Version, len(reasons) == 0, append([]string{}, reasons...), overdue, now})
}

func (s *site) chain(w http.ResponseWriter, r *http.Request) {
	s.json(w, r, http.StatusOK, s.options.Store.Snapshot().Chain)
}

func (s *site) environments(w http.ResponseWriter, r *http.Request) {
	s.json(w, r, http.StatusOK, struct {
		Environments []status.Environment `json:"environments"`
	}{s.options.Store.Snapshot().Environments})
}

func (s *site) environment(w http.ResponseWriter, r *http.Request) {
	name, now := r.PathValue("name"), s.options.Store.Snapshot()
	if e, ok := now.Environment(name); ok {
		s.json(w, r, http.StatusOK, e)
		return
	}
	var names []string
	for _, e := range now.Environments {
		names = append(names, e.Name)
	}
	hint := problem.DidYouMean(name, names)
	if hint == "" {
		hint = "/api/v1/environments lists those that there are"
	}
	s.json(w, r, http.StatusNotFound, failure{fmt.Sprintf("there is no environment %q", name), hint})
}

func (s *site) wake(w http.ResponseWriter, r *http.Request) {
	s.options.Wake()
	s.json(w, r, http.StatusAccepted, struct {
		Message string `json:"message"`
	}{"the next cycle starts now"})
}

func (s *site) description(w http.ResponseWriter, r *http.Request) {
	s.write(w, r, http.StatusOK, "application/json", openAPI)
}

// notAllowed answers a method that the address does not have.
func (s *site) notAllowed(method string) http.HandlerFunc {
	allow := method
	if method == http.MethodGet {
		allow = "GET, HEAD"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		s.json(w, r, http.StatusMethodNotAllowed, failure{"the method " + r.Method + " is not allowed here", "use " + method})
	}
}

func (s *site) notFound(w http.ResponseWriter, r *http.Request) {
	s.json(w, r, http.StatusNotFound, failure{"there is nothing at this address", "/api/v1/openapi.json says what there is"})
}

func (s *site) crossOrigin(w http.ResponseWriter, r *http.Request) {
	s.json(w, r, http.StatusForbidden, failure{"a page of another site sent this request", "send it from a program, or from a page of this address"})
}

func (s *site) text(w http.ResponseWriter, r *http.Request, code int, body string) {
	s.write(w, r, code, "text/plain; charset=utf-8", body)
}

func (s *site) json(w http.ResponseWriter, r *http.Request, code int, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.broken(w, r, err)
		return
	}
	s.write(w, r, code, "application/json", string(body)+"\n")
}

// broken answers when the response could not be generated.
func (s *site) broken(w http.ResponseWriter, r *http.Request, err error) {
	s.options.Logger.ErrorContext(r.Context(), "cannot answer", slog.String("path", r.URL.Path), slog.Any("error", err))
	s.write(w, r, http.StatusInternalServerError, "application/json", `{"error": "the answer could not be made", "hint": "the log of the daemon says why"}`+"\n")
}

func (s *site) write(w http.ResponseWriter, r *http.Request, code int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	if _, err := io.WriteString(w, body); err != nil { // the client has gone
		s.options.Logger.DebugContext(r.Context(), "answer was not read", slog.String("path", r.URL.Path), slog.Any("error", err))
	}
}

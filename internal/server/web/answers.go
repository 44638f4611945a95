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

// statusAnswer is the answer of /api/v1/status.
type statusAnswer struct {
	Version string   `json:"version"`
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why it is not ready
	// Overdue are the environments that have not finished a cycle for too long.
	Overdue []status.Unfinished `json:"overdue"`
	status.Snapshot
}

// errorAnswer is every answer that is not what was asked for.
type errorAnswer struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

func (s *site) serveReadiness(w http.ResponseWriter, r *http.Request) {
	now := s.options.Store.Snapshot()
	reasons, overdue := s.checkReadiness(now)
	code, lines := http.StatusOK, []string{"ready"}
	if len(reasons) > 0 {
		code, lines = http.StatusServiceUnavailable, reasons
	}
	for _, u := range overdue {
		lines = append(lines, now.OverdueReason(u))
	}
	if err := s.options.CheckLedger(); err != nil {
		lines = append(lines, "the ledger is not stored: "+err.Error())
	}
	s.writeBody(w, r, code, plainText, strings.Join(lines, "\n")+"\n")
}

// checkReadiness returns why the daemon is not ready, and the environments that are overdue,
// which do not make it unready.
func (s *site) checkReadiness(now status.Snapshot) (reasons []string, overdue []status.Unfinished) {
	_, reasons = now.CheckReadiness()
	overdue = []status.Unfinished{}
	if s.options.OverdueAfter > 0 {
		var loop string
		overdue, loop = now.FindOverdue(s.options.Now(), s.options.OverdueAfter)
		if loop != "" {
			reasons = append(reasons, loop)
		}
	}
	return reasons, overdue
}

func (s *site) serveStatus(w http.ResponseWriter, r *http.Request) {
	now := s.options.Store.Snapshot()
	reasons, overdue := s.checkReadiness(now)
	s.writeJSON(w, r, http.StatusOK, statusAnswer{s.options.Version, len(reasons) == 0, append([]string{}, reasons...), overdue, now})
}

// serveReport answers with a part of the reports.
func (s *site) serveReport(part func(status.Snapshot) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.writeJSON(w, r, http.StatusOK, part(s.options.Store.Snapshot()))
	}
}

func (s *site) serveEnvironment(w http.ResponseWriter, r *http.Request) {
	name, now := r.PathValue("name"), s.options.Store.Snapshot()
	if e, ok := now.FindEnvironment(name); ok {
		s.writeJSON(w, r, http.StatusOK, e)
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
	s.writeJSON(w, r, http.StatusNotFound, errorAnswer{fmt.Sprintf("there is no environment %q", name), hint})
}

func (s *site) serveWake(w http.ResponseWriter, r *http.Request) {
	s.options.Wake()
	s.writeJSON(w, r, http.StatusAccepted, struct {
		Message string `json:"message"`
	}{"the next cycle starts now"})
}

// serveFixed answers always the same.
func (s *site) serveFixed(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.writeBody(w, r, http.StatusOK, contentType, body) }
}

// methodNotAllowed answers a method that the address does not have.
func (s *site) methodNotAllowed(method string) http.HandlerFunc {
	allow := method
	if method == http.MethodGet {
		allow = "GET, HEAD"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		s.writeJSON(w, r, http.StatusMethodNotAllowed, errorAnswer{"the method " + r.Method + " is not allowed here", "use " + method})
	}
}

// refuse answers with an error.
func (s *site) refuse(code int, sentence, hint string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.writeJSON(w, r, code, errorAnswer{sentence, hint}) }
}

func (s *site) writeJSON(w http.ResponseWriter, r *http.Request, code int, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	s.writeBody(w, r, code, "application/json", string(body)+"\n")
}

// serveInternalError answers when the response could not be generated.
func (s *site) serveInternalError(w http.ResponseWriter, r *http.Request, err error) {
	s.options.Logger.ErrorContext(r.Context(), "cannot answer", slog.String("path", r.URL.Path), slog.Any("error", err))
	s.writeBody(w, r, http.StatusInternalServerError, "application/json", `{"error": "the answer could not be made", "hint": "the log of the daemon says why"}`+"\n")
}

func (s *site) writeBody(w http.ResponseWriter, r *http.Request, code int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	if _, err := io.WriteString(w, body); err != nil { // the client has gone
		s.options.Logger.DebugContext(r.Context(), "answer was not read", slog.String("path", r.URL.Path), slog.Any("error", err))
	}
}

package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"

	_ "embed" // openapi.json

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

//go:embed openapi.json
var openAPI string

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

func (s *site) serveStatus(w http.ResponseWriter, r *http.Request) {
	s.writeTaggedJSON(w, r, s.readState().Status())
}

func (s *site) serveReport(part func(status.Snapshot) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.writeTaggedJSON(w, r, part(s.options.Store.Snapshot()))
	}
}

func (s *site) serveWake(w http.ResponseWriter, r *http.Request) {
	s.options.Wake()
	s.writeJSON(w, r, http.StatusAccepted, struct {
		Message string `json:"message"`
	}{"the next cycle starts now"})
}

func (s *site) serveFixed(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.writeBody(w, r, http.StatusOK, contentType, body) }
}

// methodNotAllowed answers a method that the address does not have beside those that it has.
func (s *site) methodNotAllowed(methods []string) http.HandlerFunc {
	allow := strings.Replace(strings.Join(methods, ", "), http.MethodGet, "GET, HEAD", 1)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		s.writeJSON(w, r, http.StatusMethodNotAllowed, errorAnswer{"the method " + r.Method + " is not allowed here", "use " + text.Join(methods, " or ")})
	}
}

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

// writeTaggedJSON answers with a value, whose tag is another one when the value is.
func (s *site) writeTaggedJSON(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.serveInternalError(w, r, err)
		return
	}
	digest := sha256.Sum256(body)
	if hasTagged(w, r, `W/"`+base64.RawURLEncoding.EncodeToString(digest[:16])+`"`) {
		return
	}
	body = append(body, '\n')
	var packed []byte
	if acceptsGzip(r) {
		packed = packBody(body)
	}
	s.writePacked(w, r, http.StatusOK, "application/json", body, packed)
}

// hasTagged sets the tag of an answer, and reports whether the client has that answer already, which it is
// told then. Tags are weak: an answer that is packed has other bytes.
func hasTagged(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	addVary(w, "Accept-Encoding")
	if hasTag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	return false
}

func hasTag(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if strings.TrimPrefix(strings.TrimSpace(one), "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

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

package web

import (
	"log/slog"
	"net/http"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

// recoverPanics answers a request whose handler panics with status 500 and the id of the panic,
// and logs its stack.
func (s *site) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		barrier := panics.Barrier{Report: func(work, of string, e *panics.Error) {
			s.options.Logger.ErrorContext(r.Context(), "panic", slog.String("id", e.ID), slog.String("work", work), slog.String("of", of),
				slog.String("kind", e.Kind), slog.String("stack", e.Stack))
		}}
		if err := barrier.Run("answer", r.URL.Path, func() error { next.ServeHTTP(w, r); return nil }); err != nil {
			s.serveInternalError(w, r, err)
		}
	})
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
)

// shutdownGrace is how long requests in flight may continue after the end.
const shutdownGrace = 5 * time.Second

// Serve answers on the listener until ctx is done, waits at most 5 seconds for requests
// in flight, and closes the listener. It returns an error only if serving failed.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return serveUntilDone(ctx, listener, handler, shutdownGrace)
}

// serverEnds is the key of what is closed in the context of a request when the server ends: what
// streams stops then, so that the others have the time that is left.
type serverEnds struct{}

func serveUntilDone(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.WithoutCancel(ctx), serverEnds{}, ctx.Done())
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	err := shutDown(ctx, server, grace)
	<-ended
	if err != nil {
		return fmt.Errorf("stop serving on %s: %w", listener.Addr(), err)
	}
	return nil
}

// shutDown ends the server. Cutting off a client that is too slow is no error.
func shutDown(ctx context.Context, server *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return err
}

// CheckHost refuses requests for the page and the API that name another host than ours,
// as a browser sends them after DNS rebinding. IP addresses, names that resolve only on
// this machine or in its cluster, and hosts are ours. Health checks, metrics, webhooks and
// reports of clusters are exempt: their clients are not browsers and may use any name.
func CheckHost(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOpenPath(r.URL.Path) && !isOurHost(r.Host, hosts) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.WriteHeader(http.StatusMisdirectedRequest)
			_ = json.NewEncoder(w).Encode(errorAnswer{"the page is not reached under this name", "add the name to hosts in the settings"}) // the client has gone
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isOpenPath(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/metrics" || path == agentapi.Path || strings.HasPrefix(path, "/webhooks/")
}

func isOurHost(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	// No outsider can make these names resolve to an address of their choice.
	inside := !strings.Contains(host, ".") || slices.ContainsFunc([]string{".localhost", ".svc", ".svc.cluster.local"}, func(end string) bool { return strings.HasSuffix(host, end) })
	return host != "" && (inside || slices.ContainsFunc(hosts, func(known string) bool { return strings.EqualFold(known, host) }))
}

// recoverPanics answers a request whose handler panics with status 500 and the id of the panic,
// and logs its stack.
func (s *site) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.newBarrier(r.Context()).Run("answer", r.URL.Path, func() error { next.ServeHTTP(w, r); return nil }); err != nil {
			s.serveInternalError(w, r, err)
		}
	})
}

func (s *site) newBarrier(ctx context.Context) panics.Barrier {
	return panics.Barrier{Report: func(work, of string, e *panics.Error) {
		s.options.Logger.ErrorContext(ctx, "panic", slog.String("id", e.ID), slog.String("work", work), slog.String("of", of),
			slog.String("kind", e.Kind), slog.String("stack", e.Stack))
	}}
}

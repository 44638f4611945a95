package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const stuckAfter = 10 * time.Minute

const windowGrace = 2 * time.Second

func (a *Agent) runWithWindow(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{Handler: a.Window(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	var broken error
	var wait sync.WaitGroup
	wait.Go(func() {
		broken = server.Serve(listener)
		stop()
	})
	a.Run(ctx)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), windowGrace)
	defer cancel()
	err := server.Shutdown(ending)
	wait.Wait()
	if !errors.Is(broken, http.ErrServerClosed) {
		return fmt.Errorf("answer on %s: %w", listener.Addr(), broken)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// Window returns the handler of /healthz, /readyz and /metrics.
func (a *Agent) Window() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeTrouble(w, a.findStuck()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { writeTrouble(w, a.findTrouble()) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, a.describeMetrics())
	})
	return mux
}

func writeTrouble(w http.ResponseWriter, trouble error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if trouble != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, trouble)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (a *Agent) readHealth() health {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.health
	h.requests = maps.Clone(h.requests)
	return h
}

// findStuck returns why to restart the process, or nil. An unreachable cluster or ledger is not a
// reason.
func (a *Agent) findStuck() error {
	h := a.readHealth()
	if since := a.options.Now().Sub(h.lastRound); since > a.reporter.every+stuckAfter {
		return fmt.Errorf("nothing was done for %s", since.Round(time.Second))
	}
	return nil
}

// findTrouble returns why the ledger is not up to date, or nil.
func (a *Agent) findTrouble() error {
	h := a.readHealth()
	if trouble := cmp.Or(h.readError, h.sendError); trouble != "" {
		return errors.New(trouble)
	}
	if h.lastSent.IsZero() {
		return errors.New("nothing was reported yet")
	}
	return nil
}

type metric struct {
	name, kind, help string
	samples          map[string]float64
}

func (a *Agent) listMetrics() []metric {
	h := a.readHealth()
	single := func(value float64) map[string]float64 { return map[string]float64{"": value} }
	requests := map[string]float64{}
	for _, outcome := range []string{"accepted", "failed"} {
		requests[fmt.Sprintf("{outcome=%q}", outcome)] = float64(h.requests[outcome])
	}
	return []metric{
		{"fairlead_agent_info", "gauge", "1; the version is a label.", map[string]float64{fmt.Sprintf("{version=%q}", a.options.Version): 1}},
		{"fairlead_agent_last_read_timestamp_seconds", "gauge", "When the cluster was last read, in Unix time; 0 if it never was.", single(unixSeconds(h.lastRead))},
		{"fairlead_agent_last_report_timestamp_seconds", "gauge", "When a report was last accepted, in Unix time; 0 if none was.", single(unixSeconds(h.lastSent))},
		{"fairlead_agent_objects", "gauge", "Objects that are reported.", single(float64(h.objects))},
		{"fairlead_agent_reports_total", "counter", "Reports that were sent.", requests},
		{"fairlead_agent_rounds_total", "counter", "How often the cluster was to be read.", single(float64(h.rounds))},
		{"fairlead_agent_unread_kinds", "gauge", "Kinds of objects that are installed and cannot be listed.", single(float64(h.unread))},
	}
}

func (a *Agent) describeMetrics() string {
	var text strings.Builder
	for _, m := range a.listMetrics() {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, labels := range slices.Sorted(maps.Keys(m.samples)) {
			fmt.Fprintf(&text, "%s%s %g\n", m.name, labels, m.samples[labels])
		}
	}
	return text.String()
}

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}

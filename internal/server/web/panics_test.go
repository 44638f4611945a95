package web

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// TestPanicOfHandler: a request whose handler panics is answered, the log has the stack, and
// neither has what the program panicked with.
func TestPanicOfHandler(t *testing.T) {
	var log bytes.Buffer
	die := func() { panic("token s3cr3t") }
	h := New(Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Wake: die,
		Webhooks: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { die() }),
	})
	for _, target := range []string{"/api/v1/wake", "/webhooks/github"} {
		log.Reset()
		w := ask(h, http.MethodPost, target)
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "could not be made") {
			t.Errorf("%s: status %d, %s", target, w.Code, w.Body)
		}
		if !strings.Contains(log.String(), "panics_test.go") || !strings.Contains(log.String(), "id=") {
			t.Errorf("%s: the log has no stack: %s", target, &log)
		}
		if strings.Contains(w.Body.String()+log.String(), "s3cr3t") {
			t.Errorf("%s: it is shown what was panicked with: %s", target, &log)
		}
		if w := ask(h, http.MethodGet, "/healthz"); w.Code != http.StatusOK {
			t.Errorf("%s: then /healthz answers %d", target, w.Code)
		}
	}
}

// TestPanicOfPast: a question about the past whose answer panics is answered, too: it is made by a goroutine of its own.
func TestPanicOfPast(t *testing.T) {
	var log bytes.Buffer
	store := fleet()
	past := pastOf(store)
	past.Plan = func(context.Context, string, history.Moment) (*schedule.Plan, history.Output, error) {
		panic("token s3cr3t")
	}
	h := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Store: store, Now: func() time.Time { return noon }, Past: past, PastPatience: time.Minute})
	w := ask(h, http.MethodGet, api+"/fleet?at=2026-11-20")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "internal error") || !strings.Contains(log.String(), "panics_test.go") {
		t.Errorf("it is %d: %s; the log: %s", w.Code, w.Body, &log)
	}
	if strings.Contains(w.Body.String()+log.String(), "s3cr3t") {
		t.Errorf("it is shown what was panicked with: %s %s", w.Body, &log)
	}
}

package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/server/webhook"
)

// planRequests returns requests of tofu-controller, one for each kind of answer.
func planRequests(t *testing.T) []*http.Request {
	question, err := os.ReadFile("../../render/tfplan/testdata/payload.json")
	if err != nil {
		t.Fatal(err)
	}
	large := httptest.NewRequest(http.MethodPost, planQuestions, strings.NewReader("{}"))
	large.ContentLength = 1 << 30
	return []*http.Request{
		httptest.NewRequest(http.MethodPost, planQuestions, strings.NewReader(string(question))),
		httptest.NewRequest(http.MethodPost, planQuestions, strings.NewReader("{}")),
		httptest.NewRequest(http.MethodPut, planQuestions, nil),
		large,
	}
}

// TestPlanQuestions: questions about plans are answered under every name of the host, and without a
// secret; the addresses of webhooks beside them stay theirs.
func TestPlanQuestions(t *testing.T) {
	h := CheckHost(nil, New(Options{Webhooks: webhook.New(webhook.Options{Secrets: func(string) ([]string, error) { return nil, nil }}), Plans: webhook.NewPlanReviewer(nil)}))
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{http.MethodPost, "/webhooks/plans", 400},
		{http.MethodGet, "/webhooks/plans", 405},
		{http.MethodPost, "/webhooks/github", 404},
		{http.MethodPost, "/webhooks/plans/east-1", 404},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, "http://fairlead.example.com"+c.path, strings.NewReader("{}"))
		h.ServeHTTP(w, r)
		if w.Code != c.code {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, w.Code, c.code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	New(Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/webhooks/plans", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("without a handler: %d", w.Code)
	}
}

package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/webhook"
)

const (
	secret = "hunter2"
	pushed = `{"ref": "refs/heads/main", "repository": {"clone_url": "https://git.example.com/org/gitops.git"}}`
)

// hooks gives the real receiver, with one repository that it knows.
func hooks(secrets []string, err error) http.Handler {
	return webhook.New(webhook.Options{
		Secrets: func(string) ([]string, error) { return secrets, err },
		Known:   func(repo string) bool { return repo == "git.example.com/org/gitops" },
		Wake:    func(webhook.Event) {},
		Now:     func() time.Time { return noon },
	})
}

// delivery is one that a forge sends.
type delivery struct {
	to          http.Handler
	event, body string
	secret      string
	length      int64 // instead of that of the body; 0 for that
	code        int
}

func (d delivery) request() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/github", strings.NewReader(d.body))
	if d.length > 0 {
		r.ContentLength = d.length
	}
	mac := hmac.New(sha256.New, []byte(d.secret))
	mac.Write([]byte(d.body))
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-GitHub-Event", d.event)
	return r
}

// deliveries have all answers that there are.
func deliveries() []delivery {
	with := func(h http.Handler) http.Handler { return New(Options{Store: &status.Store{}, Webhooks: h}) }
	set, unset, broken := with(hooks([]string{secret}, nil)), with(hooks(nil, nil)), with(hooks(nil, errors.New("no")))
	return []delivery{
		{set, "push", pushed, secret, 0, 202},
		{set, "push", pushed, secret, 0, 200},
		{set, "issues", pushed, secret, 0, 204},
		{set, "push", "{", secret, 0, 400},
		{set, "push", pushed, "hunter3", 0, 401},
		{set, "push", pushed, secret, 25_000_000, 413},
		{unset, "push", pushed, secret, 0, 404},
		{broken, "push", pushed, secret, 0, 503},
	}
}

// TestWebhooks: what a forge sends gets through, and it does not matter that it comes
// from elsewhere.
func TestWebhooks(t *testing.T) {
	for _, d := range deliveries() {
		r := d.request()
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Origin", "https://git.example.com")
		w := httptest.NewRecorder()
		d.to.ServeHTTP(w, r)
		if w.Code != d.code || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %d, want %d\n%s", d.event, d.body, w.Code, d.code, w.Body)
		}
	}
}

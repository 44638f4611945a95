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

	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
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

// clusterHooks gives the real receiver of the reports of clusters, whose key is the secret.
func clusterHooks(keys []string, err error, name error) http.Handler {
	reported := false
	return webhook.New(webhook.Options{
		Secrets:     func(string) ([]string, error) { return []string{secret}, nil },
		ClusterKeys: func(string, time.Time) ([]string, error) { return keys, err },
		Wake:        func(webhook.Event) {},
		Now:         func() time.Time { return noon },
		Report: func(observe.Event) (bool, error) {
			first := !reported
			reported = true
			return first, name
		},
	})
}

// clusterDelivery is a report of a cluster.
type clusterDelivery struct {
	to           http.Handler
	target, body string
	secret       string
	length       int64 // instead of that of the body; 0 for that
	code         int
}

func (d clusterDelivery) request() *http.Request {
	r := httptest.NewRequest(http.MethodPost, d.target, strings.NewReader(d.body))
	if d.length > 0 {
		r.ContentLength = d.length
	}
	mac := hmac.New(sha256.New, []byte(d.secret))
	mac.Write([]byte(d.body))
	r.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return r
}

// clusterDeliveries have all answers that there are.
func clusterDeliveries() []clusterDelivery {
	with := func(h http.Handler) http.Handler { return New(Options{Store: &status.Store{}, Webhooks: h}) }
	set, unset, broken := with(clusterHooks([]string{secret}, nil, nil)), with(clusterHooks(nil, nil, nil)), with(clusterHooks(nil, errors.New("no"), nil))
	event := `{"involvedObject": {"kind": "Kustomization", "name": "fleet", "apiVersion": "kustomize.toolkit.fluxcd.io/v1"}, "severity": "error", "timestamp": "` + noon.Format(time.RFC3339) + `"}`
	return []clusterDelivery{
		{set, "/webhooks/flux/east-1", event, secret, 0, 202},
		{set, "/webhooks/flux/east-1", event, secret, 0, 200},
		{set, "/webhooks/flux/east-1", strings.Replace(event, "kustomize", "source", 1), secret, 0, 204},
		{set, "/webhooks/flux/east-1", "{", secret, 0, 400},
		{set, "/webhooks/flux/east-1", event, "hunter3", 0, 401},
		{set, "/webhooks/flux/east-1", event, secret, 1 << 20, 413},
		{set, "/webhooks/rancher/east-1", event, secret, 0, 404},
		{unset, "/webhooks/flux/east-1", event, secret, 0, 404},
		{broken, "/webhooks/flux/east-1", event, secret, 0, 503},
		{with(clusterHooks([]string{secret}, nil, observe.ErrContested)), "/webhooks/flux/east-1", event, secret, 0, 409},
		{with(clusterHooks([]string{secret}, nil, observe.ErrRenamed)), "/webhooks/flux/east-1", event, secret, 0, 401},
	}
}

// unprovenDelivery is a report with the secret of all clusters, of a name that a cluster has proven.
func unprovenDelivery() clusterDelivery {
	d := clusterDeliveries()[0]
	d.to, d.target, d.code = New(Options{Store: &status.Store{}, Webhooks: clusterHooks(nil, nil, observe.ErrNameProven)}), "/webhooks/flux", 409
	return d
}

// TestClusterReports: what clusters send gets through.
func TestClusterReports(t *testing.T) {
	for _, d := range append(clusterDeliveries(), unprovenDelivery()) {
		r := d.request()
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		w := httptest.NewRecorder()
		d.to.ServeHTTP(w, r)
		if w.Code != d.code {
			t.Errorf("%s: %d, want %d\n%s", d.target, w.Code, d.code, w.Body)
		}
	}
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

package observe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const token = "hunter2"

// metrics is a server that gates ask: what a path answers, and who came.
type metrics struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

// visits gives who came since it was last asked.
func (m *metrics) visits() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := strings.Join(m.seen, ", ")
	m.seen = nil
	return seen
}

func newMetrics(t *testing.T, elsewhere string) *metrics {
	t.Helper()
	m := &metrics{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.seen = append(m.seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		m.mu.Unlock()
		switch r.URL.Path {
		case "/api/slow":
			<-r.Context().Done()
		case "/api/large":
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		case "/api/larger":
			fmt.Fprint(w, strings.Repeat("x", 1<<20+1))
		case "/api/short":
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "x")
		case "/api/echo":
			fmt.Fprint(w, r.Header.Get("Authorization"))
		case "/api/no":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/api/moved":
			http.Redirect(w, r, "/api/ok", http.StatusFound)
		case "/api/out":
			http.Redirect(w, r, "/other", http.StatusFound)
		case "/api/away":
			http.Redirect(w, r, elsewhere+"/api/ok?token="+token, http.StatusFound)
		case "/api/round":
			http.Redirect(w, r, "/api/round", http.StatusFound)
		default:
			fmt.Fprint(w, `{"healthy": true}`)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func TestAsk(t *testing.T) {
	other := newMetrics(t, "")
	m := newMetrics(t, other.URL)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := &config.Settings{Probes: []config.Probe{
		{URL: m.URL + "/api", Token: &config.SecretRef{File: file}},
		{URL: m.URL + "/open"},
		{URL: m.URL + "/broken", Token: &config.SecretRef{File: file + "s"}},
		{URL: "http://127.0.0.1:1"},
	}}
	const bearer = "Bearer " + token
	host := strings.TrimPrefix(other.URL, "http://")
	for _, c := range []struct {
		name, url, secret string
		code              int
		body, reason      string // reason is a part of it
		seen              string
	}{
		{"answers", m.URL + "/api/ok", "", 200, `{"healthy": true}`, "", "GET /api/ok " + bearer},
		{"without a token", m.URL + "/open/ok", "", 200, `{"healthy": true}`, "", "GET /open/ok "},
		{"refuses", m.URL + "/api/no", "", 503, "", "", "GET /api/no " + bearer},
		{"repeats the token", m.URL + "/api/echo", "", 200, "Bearer [redacted]", "", "GET /api/echo " + bearer},
		{"as much as may be", m.URL + "/api/large", "", 200, strings.Repeat("x", 1<<20), "", "GET /api/large " + bearer},
		{"more than may be", m.URL + "/api/larger", "", 0, "", "more than 1 MiB", "GET /api/larger " + bearer},
		{"breaks off", m.URL + "/api/short", "", 0, "", "the answer was cut off: unexpected EOF", "GET /api/short " + bearer},
		{"does not answer", m.URL + "/api/slow", "", 0, "", "it did not answer in time", "GET /api/slow " + bearer},
		{"redirects", m.URL + "/api/moved", "", 200, `{"healthy": true}`, "", "GET /api/moved " + bearer + ", GET /api/ok " + bearer},
		{"redirects to another path", m.URL + "/api/out", "", 0, "", "which is not within its probe", "GET /api/out " + bearer},
		{"redirects to another host", m.URL + "/api/away", "", 0, "", "it redirects to http://" + host + ", which is not within its probe", "GET /api/away " + bearer},
		{"redirects for ever", m.URL + "/api/round", "", 0, "", "it redirects too often", strings.TrimSuffix(strings.Repeat("GET /api/round "+bearer+", ", 4), ", ")},
		{"not allowed", m.URL + "/other", "", 0, "", "add a URL to probes", ""},
		{"nobody there", "http://127.0.0.1:1/x?q=" + token, "", 0, "", "connection refused", ""},
		{"no token there", m.URL + "/broken/x", "", 0, "", "its token cannot be read", ""},
		{"wants a token", m.URL + "/open/ok", "grafana", 0, "", "it wants the secret grafana: write a token for " + m.URL + "/open", ""},
		{"wants a token that is there", m.URL + "/api/ok", "grafana", 200, `{"healthy": true}`, "", "GET /api/ok " + bearer},
	} {
		t.Run(c.name, func(t *testing.T) {
			need := gate.Need{Kind: gate.HTTP, URL: c.url, Secret: c.secret, Timeout: time.Minute}
			if strings.HasSuffix(c.url, "/slow") {
				need.Timeout = 50 * time.Millisecond
			}
			a := observe.ProbeURL(context.Background(), m.Client(), settings.Probe, need, noon)
			if a.Code != c.code || string(a.Body) != c.body || !strings.Contains(a.Reason, c.reason) || (a.Reason == "") != (c.reason == "") || !a.Time.Equal(noon) {
				t.Errorf("%d %.100q (%s) at %v", a.Code, a.Body, a.Reason, a.Time)
			}
			if seen := m.visits(); seen != c.seen {
				t.Errorf("seen: %s, want %s", seen, c.seen)
			}
			if strings.Contains(a.Reason+string(a.Body), token) {
				t.Errorf("the token is shown in %s", a.Reason)
			}
		})
	}
	if seen := other.visits(); seen != "" {
		t.Errorf("another host was asked: %s", seen)
	}
}

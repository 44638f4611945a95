package observe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// TestPost: a body is posted as JSON, also after a redirect; where a redirect would lose it, there is no
// answer, since the server would answer another question.
func TestPost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/check", http.StatusTemporaryRedirect)
		case "/lost":
			http.Redirect(w, r, "/check", http.StatusFound)
		default:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			_, err = io.WriteString(w, r.Method+" "+r.Header.Get("Content-Type")+" "+string(body))
			if err != nil {
				t.Error(err)
			}
		}
	}))
	defer server.Close()
	settings := &config.Settings{Probes: []config.Probe{{URL: server.URL}}}
	for _, c := range []struct {
		path         string
		body         []byte
		want, reason string
	}{
		{"/check", []byte(`{"stacks":[]}`), `POST application/json {"stacks":[]}`, ""},
		{"/moved", []byte(`{"stacks":[]}`), `POST application/json {"stacks":[]}`, ""},
		{"/lost", []byte(`{"stacks":[]}`), "", "it redirects without what was sent"},
		{"/lost", nil, "GET  ", ""},
		{"/check", nil, "GET  ", ""},
	} {
		need := gate.Need{Kind: gate.HTTP, URL: server.URL + c.path, Body: c.body, Timeout: time.Minute}
		a := observe.ProbeURL(t.Context(), server.Client(), settings.Probe, need, noon)
		if string(a.Body) != c.want || !strings.Contains(a.Reason, c.reason) || (a.Reason == "") != (c.reason == "") {
			t.Errorf("%s: %d %q (%s)", c.path, a.Code, a.Body, a.Reason)
		}
	}
}

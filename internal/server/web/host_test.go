package web

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestCheckHost: over real sockets, a name that somebody made to lead here gets nothing of
// the page and the API; probes and webhooks go on.
func TestCheckHost(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = Serve(t.Context(), listener, CheckHost([]string{"Fairlead.acme.example"}, open(fleet()))) }()
	for _, test := range []struct {
		host string
		ours bool
	}{
		{"127.0.0.1", true}, {"127.0.0.1:8080", true}, {"[::1]:8080", true}, {"10.1.2.3", true}, {"localhost:8080", true}, {"LOCALHOST", true}, {"x.localhost", true}, {"fairlead", true},
		{"fairlead.fairlead.svc:8080", true}, {"fairlead.fairlead.svc.cluster.local", true}, {"fairlead.acme.example", true}, {"fairlead.acme.example.:443", true},
		{"evil.example", false}, {"evil.example:8080", false}, {"127.0.0.1.evil.example", false}, {"localhost.evil.example", false}, {"x.fairlead.acme.example", false}, {"svc.example", false},
	} {
		for path, open := range map[string]bool{"/": false, "/api/v1/status": false, "/api/v1/nothing": false, "/healthz": true, "/readyz": true, "/metrics": true, "/webhooks/github": true, "/api/v1/fleet/reports": true} {
			req, err := http.NewRequest(http.MethodGet, "http://"+listener.Addr().String()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = test.host
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if refused := answer.StatusCode == http.StatusMisdirectedRequest; refused == (test.ours || open) {
				t.Errorf("%s of %s: %s", path, test.host, answer.Status)
			}
			if !open && !test.ours && !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%s of %s: %v", path, test.host, answer.Header)
			}
		}
	}
}

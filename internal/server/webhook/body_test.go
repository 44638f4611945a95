package webhook

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSlowClients: over real sockets, clients that say that they will send something, with a
// signature that is none, and then send nothing or a part, do not keep a good one waiting.
func TestSlowClients(t *testing.T) {
	b := newBox(nil)
	server := httptest.NewServer(b.Handler)
	defer server.Close()
	for i := range 64 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		head := signed("github", "push", "", "x").Header
		fmt.Fprintf(conn, "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", maxBodySize-1)
		if err := head.Write(conn); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "\r\n"+strings.Repeat("x", i*100))
	}
	good := signed("github", "push", "", hubPush)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/webhooks/github", strings.NewReader(hubPush))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = good.Header
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusAccepted {
		t.Errorf("a good delivery gets %s", answer.Status)
	}
	server.CloseClientConnections()
}

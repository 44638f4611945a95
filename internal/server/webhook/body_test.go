package webhook

import (
	"context"
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

// TestBodiesAreBounded: where there is no room, no more is taken into memory.
func TestBodiesAreBounded(t *testing.T) {
	p := &receiver{pieces: make(chan struct{}, 2)}
	read := func(ctx context.Context, size int) ([]byte, func(), error) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", size))).WithContext(ctx)
		return p.readBody(httptest.NewRecorder(), r)
	}
	body, release, err := read(t.Context(), pieceSize+1)
	if len(body) != pieceSize+1 || err != nil || len(p.pieces) != 2 {
		t.Fatalf("%d bytes, %d pieces: %v", len(body), len(p.pieces), err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if body, none, err := read(gone, 1); err == nil || body != nil {
		t.Errorf("one too many is read: %v", err)
	} else {
		none()
	}
	release()
	if len(p.pieces) != 0 {
		t.Errorf("%d pieces are kept", len(p.pieces))
	}
	if body, _, err := read(t.Context(), 0); len(body) != 0 || err != nil {
		t.Errorf("an empty body: %v", err)
	}
}

package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// patience is how long a test waits for what happens at once where the machine is idle.
const patience = time.Minute

// pipes is a network in memory, in which a write waits for its reader.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func newPipes() *pipes {
	return &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// dial returns the reader's end of a connection.
func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.connections <- far
	return near
}

// follow opens a stream of the overview, and returns what comes after its head.
func (p *pipes) follow(t testing.TB) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := p.dial()
	if _, err := io.WriteString(c, "GET /events?page=/ HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	response, err := http.ReadResponse(r, nil)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream begins with %v, %v", response, err)
	}
	return c, bufio.NewReader(response.Body)
}

// readVersion returns the version of the next event; "" if the stream has ended.
func readVersion(r *bufio.Reader) string {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return ""
		}
		if version, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSpace(version)
		}
	}
}

// waitUntil waits for what must come to pass.
func waitUntil(t testing.TB, what string, is func() bool) {
	t.Helper()
	look, end := time.NewTicker(time.Millisecond), time.After(patience)
	defer look.Stop()
	for !is() {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("after %s it is not so that %s", patience, what)
		}
	}
}

// liveSite serves streams of a store in memory.
func liveSite(t testing.TB, o Options) (*site, *pipes) {
	t.Helper()
	o.StreamPace = time.Millisecond
	s, network := &site{options: o.withDefaults()}, newPipes()
	server := &http.Server{Handler: http.HandlerFunc(s.serveEvents)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(network) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return s, network
}

// TestManyStreams: a thousand pages hear of a change, and nothing is left of them when they have gone.
func TestManyStreams(t *testing.T) {
	const many = 1000
	store := fleet()
	s, network := liveSite(t, Options{Store: store, Now: func() time.Time { return noon }})
	before := runtime.NumGoroutine()
	connections, readers := make([]net.Conn, many), make([]*bufio.Reader, many)
	for i := range many {
		connections[i], readers[i] = network.follow(t)
	}
	first := readVersion(readers[0])
	for _, r := range readers[1:] {
		if version := readVersion(r); version != first || version == "" {
			t.Fatalf("the version is %q, and %q for others", version, first)
		}
	}
	store.SetEnvironment(status.Environment{Name: "dev", State: status.Failed, Reason: "it broke", Checked: noon})
	for _, r := range readers {
		if version := readVersion(r); version == first || version == "" {
			t.Fatalf("after a change the version is %q", version)
		}
	}
	if got := s.readState().Status().Viewers; got != len(connections) {
		t.Errorf("there are %d viewers, want %d", got, len(connections))
	}
	for _, c := range connections {
		_ = c.Close()
	}
	waitUntil(t, "no stream is open", func() bool { return s.streams.open.Load() == 0 })
	waitUntil(t, "no goroutine of them is left", func() bool { return runtime.NumGoroutine() <= before })
}

// TestHeadOfStream: who asks for the head alone gets no stream.
func TestHeadOfStream(t *testing.T) {
	s := newSite(Options{Store: fleet()})
	w := httptest.NewRecorder()
	s.serveEvents(w, httptest.NewRequest(http.MethodHead, "/events?page=/", nil))
	if w.Body.Len() > 0 || s.streams.open.Load() != 0 {
		t.Errorf("the head has %q, and %d streams are open", w.Body, s.streams.open.Load())
	}
}

// TestUnchangedPage: a change that a page does not show is no event.
func TestUnchangedPage(t *testing.T) {
	store := fleet()
	_, network := liveSite(t, Options{Store: store, Now: func() time.Time { return noon }})
	c, r := network.follow(t)
	defer c.Close()
	first := readVersion(r)
	store.SetCycle(status.Cycle{Number: 43, Outcome: status.OutcomeOK})
	line, err := r.ReadString('\n') // the empty one of the first event
	for err == nil && strings.TrimSpace(line) == "" {
		line, err = r.ReadString('\n')
	}
	if err != nil || line != ": beat\n" {
		t.Errorf("after the version %s comes %q, %v", first, line, err)
	}
}

// TestSlowReader: a reader that does not take an event is cut off, and holds up nobody. The clock stands still until all
// wait for it.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fleet()
		s, network := liveSite(t, Options{Store: store, Now: func() time.Time { return noon }, StreamTimeout: time.Second})
		c, r := network.follow(t)
		defer c.Close()
		if readVersion(r) == "" {
			t.Fatal("there is no first event")
		}
		waitUntil(t, "the stream is open", func() bool { return s.streams.open.Load() == 1 })
		store.SetEnvironment(status.Environment{Name: "dev", State: status.Failed, Reason: "it broke", Checked: noon})
		waitUntil(t, "the stream was cut off", func() bool { return s.streams.open.Load() == 0 })
	})
}

// TestStreamsEndWithServer: streams end when the server does, and do not use up its grace.
func TestStreamsEndWithServer(t *testing.T) {
	network, served := newPipes(), make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { served <- serveUntilDone(ctx, network, New(Options{Store: fleet()}), time.Hour) }()
	c, r := network.follow(t)
	defer c.Close()
	if readVersion(r) == "" {
		t.Fatal("there is no first event")
	}
	end()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("a stream keeps the server from ending")
	}
}

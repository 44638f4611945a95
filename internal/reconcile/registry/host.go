package registry

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// hosts sends requests to allowed hosts, each of which gets a few a second.
type hosts struct {
	client *Client

	mu  sync.Mutex
	all map[string]*host
}

type host struct {
	next     time.Time // when the next request may be sent
	pause    time.Time // until when none is sent: the host said so, or failed
	failures int
}

const (
	perSecond    = 5
	burst        = 10
	firstPause   = time.Minute
	maxPause     = time.Hour
	longestAsked = 24 * time.Hour
)

// RoundTrip implements [http.RoundTripper].
func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := h.checkHost(r.URL.Host); err != nil {
		return nil, err
	}
	place := r.URL.Scheme + "://" + r.URL.Host // a registry of this machine is asked by https first
	wait, err := h.reserve(place)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	resp, err := h.client.options.Transport.RoundTrip(r)
	if r.Context().Err() == nil {
		h.record(place, resp, err)
	}
	if err == nil {
		resp.Body = &boundedBody{resp.Body, boundOf(r)}
	}
	return resp, err
}

// checkHost is about the place where a registry says that tokens are, too.
func (h *hosts) checkHost(name string) error {
	for _, allowed := range h.client.options.Allow {
		if allowedHost, _, _ := strings.Cut(allowed, "/"); allowedHost == name {
			return nil
		}
	}
	return &NotAllowedError{name}
}

// reserve returns how long a request has to wait for its turn. Turns are counted by the clock of the machine.
func (h *hosts) reserve(name string) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.all[name]
	if of == nil {
		of = &host{}
		h.all[name] = of
	}
	if now := h.client.options.Now(); now.Before(of.pause) {
		return 0, fmt.Errorf("%s is not asked before %s, after it failed or asked to wait", name, of.pause.UTC().Format(time.RFC3339))
	}
	now := time.Now()
	earliest := now.Add(-burst * time.Second / perSecond)
	if of.next.Before(earliest) {
		of.next = earliest
	}
	of.next = of.next.Add(time.Second / perSecond)
	return max(of.next.Sub(now), 0), nil
}

func (h *hosts) record(name string, resp *http.Response, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of, now := h.all[name], h.client.options.Now()
	if err == nil && resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		of.failures = 0
		return
	}
	pause := time.Duration(0)
	if !now.Before(of.pause) {
		pause = min(firstPause<<min(of.failures, 10), maxPause)
		of.failures++
	}
	if err == nil {
		pause = max(pause, protocol.RetryAfter(resp.Header, longestAsked))
	}
	if until := now.Add(pause); until.After(of.pause) {
		of.pause = until
	}
}

// boundedBody fails after a number of bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than allowed")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func boundOf(r *http.Request) int64 {
	if strings.HasSuffix(r.URL.Path, "/"+indexFile) {
		return maxIndex + 1
	}
	return maxPage + 1
}

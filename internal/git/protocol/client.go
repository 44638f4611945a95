package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// NewClient returns a client that aborts answers that pause for longer than stall. trusted reports
// whether the operator named the server; other requests and redirects must not reach forbidden
// addresses.
func NewClient(stall time.Duration, trusted func(*url.URL) bool) *http.Client {
	return &http.Client{Transport: &stallTransport{trusted, stall}}
}

type stallTransport struct {
	trusted func(*url.URL) bool
	limit   time.Duration
}

var errStalled = errors.New("the server stopped answering")

func (p *stallTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := http.DefaultTransport
	if !p.trusted(req.URL) {
		next = guardedTransport()
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	res, err := next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(err)
		return nil, err
	}
	w := &stallBody{ReadCloser: res.Body, cancel: cancel, limit: p.limit}
	w.timer = time.AfterFunc(p.limit, func() {
		w.stalled.Store(true)
		cancel(errStalled)
	})
	res.Body = w
	return res, nil
}

type stallBody struct {
	io.ReadCloser
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	limit   time.Duration
	stalled atomic.Bool
}

func (w *stallBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && w.stalled.Load() {
		return n, fmt.Errorf("%w for %s", errStalled, w.limit)
	}
	w.timer.Reset(w.limit)
	return n, err
}

func (w *stallBody) Close() error {
	w.timer.Stop()
	defer w.cancel(nil)
	return w.ReadCloser.Close()
}

// RetryAfter returns the delay of Retry-After, at most the longest: one answer must not stop polling for a year. It compares
// times with the server's own clock.
func RetryAfter(h http.Header, longest time.Duration) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	now, dateErr := http.ParseTime(h.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return min(max(0, until.Sub(now)), longest)
}

// UnwrapGoGit returns the error inside go-git's wrappers, which lack Unwrap.
func UnwrapGoGit(err error) error {
	var unexpected *plumbing.UnexpectedError
	var permanent *plumbing.PermanentError
	switch {
	case errors.As(err, &unexpected):
		return UnwrapGoGit(unexpected.Err)
	case errors.As(err, &permanent):
		return UnwrapGoGit(permanent.Err)
	}
	return err
}

// maxReason bounds the shown answer, which may be a web page.
const maxReason = 300

// ShortenReason returns an answer as one line of bounded length.
func ShortenReason(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

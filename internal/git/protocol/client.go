package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// Client returns a client whose connections are kept from one exchange to the next. It
// gives up answers that pause for longer than stall. trusted reports whether a request goes
// to a server that the operator has named; all others, those of redirects too, reach no
// address that only the operator may name.
func Client(stall time.Duration, trusted func(*url.URL) bool) *http.Client {
	return &http.Client{Transport: &patience{trusted, stall}}
}

// patience returns up answers that stall: it is what a server that is there and says
// nothing looks like.
type patience struct {
	trusted func(*url.URL) bool
	limit   time.Duration
}

var errStalled = errors.New("the server stopped answering")

// RoundTrip sends a request, and watches over the body of the answer.
func (p *patience) RoundTrip(req *http.Request) (*http.Response, error) {
	next := http.DefaultTransport
	if !p.trusted(req.URL) {
		next = guarded()
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	res, err := next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(err)
		return nil, err
	}
	w := &watched{ReadCloser: res.Body, cancel: cancel, limit: p.limit}
	w.timer = time.AfterFunc(p.limit, func() {
		w.stalled.Store(true)
		cancel(errStalled)
	})
	res.Body = w
	return res, nil
}

// watched is a body that must not pause for long.
type watched struct {
	io.ReadCloser
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	limit   time.Duration
	stalled atomic.Bool
}

// Read reads, and starts the clock again.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && w.stalled.Load() {
		return n, fmt.Errorf("%w for %s", errStalled, w.limit)
	}
	w.timer.Reset(w.limit)
	return n, err
}

// Close ends the request.
func (w *watched) Close() error {
	w.timer.Stop()
	defer w.cancel(nil)
	return w.ReadCloser.Close()
}

// longestRetry bounds how long a server can have us leave it alone: one answer must not
// silence it for a year.
const longestRetry = time.Hour

// RetryAfter reads how long a server wants to be left alone: in seconds, or until a
// time that is compared with its own clock; an hour at most.
func RetryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longestRetry/time.Second))) * time.Second
	}
	until, err := http.ParseTime(value)
	now, dateErr := http.ParseTime(h.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return min(max(0, until.Sub(now)), longestRetry)
}

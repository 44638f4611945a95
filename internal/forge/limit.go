package forge

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Limiter knows until when a credential must not be used. All that use the
// credential share it. The zero Limiter is ready to be used.
type Limiter struct {
	mu    sync.Mutex
	until time.Time
}

const (
	// unsaid is how long GitHub wants to be left alone if it does not say how long.
	unsaid = time.Minute
	// longest bounds a wait; GitHub's limits are of an hour.
	longest = time.Hour
)

var limitHeaders = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used", "Retry-After"}

// check gives a RateLimit if it is too early for another request.
func (l *Limiter) check(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) {
		return &RateLimit{l.until}
	}
	return nil
}

// note remembers what an answer says of the limits. It gives a RateLimit if the
// request was refused because of them.
func (l *Limiter) note(answer *http.Response, body []byte, now time.Time) error {
	wait, refused := patience(answer, body)
	if wait <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := now.Add(min(wait, longest)); until.After(l.until) {
		l.until = until
	}
	if !refused {
		return nil
	}
	return &RateLimit{l.until}
}

// patience gives how long to wait before the next request, 0 for not at all, and
// whether this one was refused.
func patience(answer *http.Response, body []byte) (wait time.Duration, refused bool) {
	exhausted := answer.Header.Get("X-RateLimit-Remaining") == "0"
	forbidden, many := answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusTooManyRequests
	after, asked := retryAfter(answer)
	secondary := bytes.Contains(bytes.ToLower(body), []byte("secondary rate limit"))
	refused = many || forbidden && (exhausted || asked || secondary)
	switch {
	case refused && asked:
		return max(after, time.Second), true
	case exhausted:
		if wait = untilReset(answer); wait > 0 {
			return wait, refused
		}
	}
	if refused {
		return unsaid, true
	}
	return 0, false
}

// retryAfter gives the seconds of a Retry-After.
func retryAfter(answer *http.Response) (time.Duration, bool) {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil {
		return 0, false
	}
	return time.Duration(min(seconds, int(longest/time.Second))) * time.Second, true
}

// untilReset gives how long it is until the limit is lifted, by the server's clock.
func untilReset(answer *http.Response) time.Duration {
	reset, err := strconv.ParseInt(answer.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return unsaid
	}
	return max(0, time.Unix(reset, 0).Sub(date)) + time.Second // the date has no fraction
}

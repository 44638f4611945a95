package forge

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Limiter keeps the time before which a credential must not be used. All users of the
// credential share it. The zero Limiter is ready to use.
type Limiter struct {
	mu    sync.Mutex
	until time.Time
	watch func(left int)
}

// WatchRemaining calls f after each answer that tells how many requests are left before
// the limit.
func (l *Limiter) WatchRemaining(f func(left int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = f
}

func (l *Limiter) tell(answer *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left, err := strconv.Atoi(limit(answer, "Remaining")); err == nil && l.watch != nil {
		l.watch(left)
	}
}

const (
	// unsaid is how long GitHub wants to be left alone if it does not say how long;
	// GitLab's limits are of a minute.
	unsaid = time.Minute
	// longest bounds a wait; GitHub's limits are of an hour.
	longest = time.Hour
)

// limitHeaders are those of GitHub, which begin with X-, and of GitLab.
var limitHeaders = []string{
	"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used",
	"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-ResetTime", "RateLimit-Observed", "RateLimit-Name",
	"Retry-After",
}

// limit returns a value of the rate limit, from GitHub's header or from GitLab's.
func limit(answer *http.Response, name string) string {
	return cmp.Or(answer.Header.Get("X-RateLimit-"+name), answer.Header.Get("RateLimit-"+name))
}

// check returns a RateLimit if it is too early for another request.
func (l *Limiter) check(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) {
		return &RateLimit{l.until}
	}
	return nil
}

// note records the limits that an answer tells. It returns a RateLimit if the request
// was refused because of them.
func (l *Limiter) note(answer *http.Response, body []byte, now time.Time) error {
	l.tell(answer)
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

// patience returns how long to wait before the next request, 0 for not at all, and
// whether this one was refused.
func patience(answer *http.Response, body []byte) (wait time.Duration, refused bool) {
	exhausted := limit(answer, "Remaining") == "0"
	forbidden, many := answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusTooManyRequests
	after, asked := retryAfter(answer)
	secondary := bytes.Contains(bytes.ToLower(body), []byte("secondary rate limit"))
	refused = many || forbidden && (exhausted || asked || secondary)
	switch {
	case refused && asked:
		return max(after, time.Second), true
	case exhausted:
		wait = untilReset(answer)
		if wait > 0 {
			return wait, refused
		}
	}
	if refused {
		return unsaid, true
	}
	return 0, false
}

// retryAfter returns the seconds of a Retry-After.
func retryAfter(answer *http.Response) (time.Duration, bool) {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil {
		return 0, false
	}
	return time.Duration(min(seconds, int(longest/time.Second))) * time.Second, true
}

// untilReset returns how long it is until the limit is lifted, by the server's clock.
func untilReset(answer *http.Response) time.Duration {
	reset, err := strconv.ParseInt(limit(answer, "Reset"), 10, 64)
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return unsaid
	}
	return max(0, time.Unix(reset, 0).Sub(date)) + time.Second // the date has no fraction
}

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

const (
	// defaultWait is how long GitHub wants to be left alone if it does not say how long;
	// GitLab's limits are of a minute.
	defaultWait = time.Minute
	// maxWait bounds a wait; GitHub's limits are of an hour.
	maxWait = time.Hour
)

// limitHeaders are those of GitHub, which begin with X-, and of GitLab.
var limitHeaders = []string{
	"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used",
	"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-ResetTime", "RateLimit-Observed", "RateLimit-Name",
	"Retry-After",
}

// limitHeader returns a value of the rate limit, from GitHub's header or from GitLab's.
func limitHeader(answer *http.Response, name string) string {
	return cmp.Or(answer.Header.Get("X-RateLimit-"+name), answer.Header.Get("RateLimit-"+name))
}

// checkLimit returns a RateLimit if it is too early for another request.
func (l *Limiter) checkLimit(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) {
		return &RateLimit{l.until}
	}
	return nil
}

// recordAnswer records the limits that an answer tells. It returns a RateLimit if the request
// was refused because of them.
func (l *Limiter) recordAnswer(answer *http.Response, body []byte, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left, err := strconv.Atoi(limitHeader(answer, "Remaining")); err == nil && l.watch != nil {
		l.watch(left)
	}
	wait, refused := answerWait(answer, body)
	if wait <= 0 {
		return nil
	}
	if until := now.Add(min(wait, maxWait)); until.After(l.until) {
		l.until = until
	}
	if !refused {
		return nil
	}
	return &RateLimit{l.until}
}

// answerWait returns how long to wait before the next request, 0 for not at all, and
// whether this one was refused.
func answerWait(answer *http.Response, body []byte) (wait time.Duration, refused bool) {
	exhausted := limitHeader(answer, "Remaining") == "0"
	forbidden, many := answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusTooManyRequests
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	asked := err == nil
	secondary := bytes.Contains(bytes.ToLower(body), []byte("secondary rate limit"))
	refused = many || forbidden && (exhausted || asked || secondary)
	switch {
	case refused && asked:
		return time.Duration(max(1, min(seconds, int(maxWait/time.Second)))) * time.Second, true
	case exhausted:
		wait = untilReset(answer)
		if wait > 0 {
			return wait, refused
		}
	}
	if refused {
		return defaultWait, true
	}
	return 0, false
}

// untilReset returns how long it is until the limit is lifted, by the server's clock.
func untilReset(answer *http.Response) time.Duration {
	reset, err := strconv.ParseInt(limitHeader(answer, "Reset"), 10, 64)
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return defaultWait
	}
	return max(0, time.Unix(reset, 0).Sub(date)) + time.Second // the date has no fraction
}

package forge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limiter keeps the time before which a credential must not be used, and what else its forge
// tells of it. All users of the credential share it. The zero Limiter is ready to use.
type Limiter struct {
	mu    sync.Mutex
	until time.Time
	watch func(left int)

	token   [sha256.Size]byte // of the token that what is below is about
	limits  map[string]RequestLimit
	expires time.Time
	asked   time.Time
	refused bool
}

// RequestLimit is what a forge tells of a limit of the requests with a credential.
type RequestLimit struct {
	Name      string // that the forge gives it, as "core"; "" if it gives it none
	Limit     int
	Remaining int
	Resets    time.Time // by our clock; zero if the forge does not tell
	Asked     time.Time // when it was told
}

// CredentialReport is what a forge tells of a credential.
type CredentialReport struct {
	Limits  []RequestLimit // sorted by name; nil if it tells none
	RetryAt time.Time      // before which the credential is not used; zero if it was never refused
	Expires time.Time      // zero if that is not known
	Asked   time.Time      // when it last answered; zero if it never did
	Refused bool           // whether it did not accept the token then
}

// Report returns what the forge has told of the token that was used last.
func (l *Limiter) Report() CredentialReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := CredentialReport{RetryAt: l.until, Expires: l.expires, Asked: l.asked, Refused: l.refused}
	for _, name := range slices.Sorted(maps.Keys(l.limits)) {
		r.Limits = append(r.Limits, l.limits[name])
	}
	return r
}

// RecordExpiry records when the token expires that was used last, where the forge tells that in a
// document and not with each answer.
func (l *Limiter) RecordExpiry(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expires = at
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
	// maxReset bounds how far off the time is at which a limit begins anew.
	maxReset = 48 * time.Hour
	// maxUnix bounds that time as the server tells it, in seconds.
	maxUnix = 1 << 40
)

// limitHeaders are those of GitHub, which begin with X-, and of GitLab.
var limitHeaders = []string{
	"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used",
	"X-RateLimit-Resource",
	"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-ResetTime", "RateLimit-Observed", "RateLimit-Name",
	"Retry-After",
}

// expiryHeader is where GitHub tells when a personal token expires.
const expiryHeader = "GitHub-Authentication-Token-Expiration"

// ParseTokenExpiry returns when a token expires by the header of an answer of GitHub; zero if it
// does not tell.
func ParseTokenExpiry(h http.Header) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if until, err := time.Parse(layout, h.Get(expiryHeader)); err == nil {
			return until.UTC()
		}
	}
	return time.Time{}
}

const (
	// maxLimits bounds how many limits of a credential are kept: GitHub has a dozen.
	maxLimits = 16
	// maxLimitName bounds the name of one, in characters.
	maxLimitName = 40
)

// recordToken forgets what was told of another token: it was replaced.
func (l *Limiter) recordToken(token string, now time.Time) {
	if sum := sha256.Sum256([]byte(token)); sum != l.token {
		l.token, l.limits, l.expires = sum, nil, time.Time{}
	}
	l.asked = now
}

// recordLimit records the limit that an answer is about.
func (l *Limiter) recordLimit(answer *http.Response, now time.Time) {
	left, err := strconv.Atoi(limitHeader(answer, "Remaining"))
	if err != nil {
		return
	}
	most, err := strconv.Atoi(limitHeader(answer, "Limit"))
	if err != nil || most <= 0 {
		return
	}
	told := RequestLimit{Limit: most, Remaining: max(0, left), Asked: now}
	told.Name = OneLine(strings.ToValidUTF8(cmp.Or(answer.Header.Get("X-RateLimit-Resource"), answer.Header.Get("RateLimit-Name")), ""), maxLimitName)
	if wait, known := untilReset(answer); known {
		told.Resets = now.Add(wait).Truncate(time.Second)
	}
	if l.limits == nil {
		l.limits = map[string]RequestLimit{}
	}
	if _, known := l.limits[told.Name]; known || len(l.limits) < maxLimits {
		l.limits[told.Name] = told
	}
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

// recordAnswer records the limits that an answer to a request with a token tells. It returns a
// RateLimit if the request was refused because of them.
func (l *Limiter) recordAnswer(answer *http.Response, body []byte, token string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recordToken(token, now)
	l.refused = answer.StatusCode == http.StatusUnauthorized
	l.recordLimit(answer, now)
	if at := ParseTokenExpiry(answer.Header); !at.IsZero() {
		l.expires = at
	}
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
		wait, known := untilReset(answer)
		if known {
			return wait, refused
		}
	}
	if refused {
		return defaultWait, true
	}
	return 0, false
}

// untilReset returns how long it is until the limit is lifted, by the server's clock, and whether
// the server tells that.
func untilReset(answer *http.Response) (wait time.Duration, known bool) {
	reset, err := strconv.ParseInt(limitHeader(answer, "Reset"), 10, 64)
	if err != nil {
		return 0, false
	}
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return defaultWait, true
	}
	left := min(max(0, max(0, min(reset, maxUnix))-date.Unix()), int64(maxReset/time.Second))
	return time.Duration(left+1) * time.Second, true // the date has no fraction
}

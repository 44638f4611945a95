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

// Limiter records until when a credential must not be used, and its limits. All users of a
// credential share it. The zero value is ready to use.
type Limiter struct {
	mu    sync.Mutex
	until time.Time
	watch func(left int)

	token   [sha256.Size]byte // of the token of the fields below
	limits  map[string]RequestLimit
	expires time.Time
	asked   time.Time
	refused bool
}

// RequestLimit is a forge's rate limit for a credential.
type RequestLimit struct {
	Name      string // such as "core"; "" if unnamed
	Limit     int
	Remaining int
	Resets    time.Time // by our clock; zero if unknown
	Asked     time.Time
}

// CredentialReport is what a forge reported about a credential.
type CredentialReport struct {
	Limits  []RequestLimit // sorted by name
	RetryAt time.Time      // end of a refusal; zero if never refused
	Expires time.Time      // zero if unknown
	Asked   time.Time      // last answer; zero for none
	Refused bool
}

// Report returns the report about the last token.
func (l *Limiter) Report() CredentialReport {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := CredentialReport{RetryAt: l.until, Expires: l.expires, Asked: l.asked, Refused: l.refused}
	for _, name := range slices.Sorted(maps.Keys(l.limits)) {
		r.Limits = append(r.Limits, l.limits[name])
	}
	return r
}

// RecordExpiry records when the last token expires, for forges that report it in a document.
func (l *Limiter) RecordExpiry(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expires = at
}

// WatchRemaining calls f with the number of remaining requests after each answer that has it.
func (l *Limiter) WatchRemaining(f func(left int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = f
}

const (
	// defaultWait is GitHub's required wait if it names none; GitLab's limits are per minute.
	defaultWait = time.Minute
	// maxWait bounds a wait; GitHub's limits are per hour.
	maxWait = time.Hour
	// maxReset bounds the time until a limit resets.
	maxReset = 48 * time.Hour
	maxUnix  = 1 << 40
)

// limitHeaders are GitHub's, which begin with X-, and GitLab's.
var limitHeaders = []string{
	"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used",
	"X-RateLimit-Resource",
	"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-ResetTime", "RateLimit-Observed", "RateLimit-Name",
	"Retry-After",
}

const expiryHeader = "GitHub-Authentication-Token-Expiration"

// ParseTokenExpiry returns when a personal token expires, by GitHub's header; zero if unknown.
func ParseTokenExpiry(h http.Header) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if until, err := time.Parse(layout, h.Get(expiryHeader)); err == nil {
			return until.UTC()
		}
	}
	return time.Time{}
}

const (
	// maxLimits: GitHub has a dozen.
	maxLimits    = 16
	maxLimitName = 40
)

func (l *Limiter) recordToken(token string, now time.Time) {
	if sum := sha256.Sum256([]byte(token)); sum != l.token {
		l.token, l.limits, l.expires = sum, nil, time.Time{}
	}
	l.asked = now
}

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

func limitHeader(answer *http.Response, name string) string {
	return cmp.Or(answer.Header.Get("X-RateLimit-"+name), answer.Header.Get("RateLimit-"+name))
}

func (l *Limiter) checkLimit(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) {
		return &RateLimit{l.until}
	}
	return nil
}

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

// untilReset returns the time until a limit resets, by the server's clock.
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
	return time.Duration(left+1) * time.Second, true // Date has no fraction
}

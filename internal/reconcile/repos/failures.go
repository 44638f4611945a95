package repos

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

// A failing remote gets a pause that doubles each time.
const (
	firstBackoff   = 5 * time.Second
	longestBackoff = 10 * time.Minute
)

type backoffError struct {
	now, until time.Time
	err        error
}

// Error returns the failure and the end of the pause.
func (b *backoffError) Error() string {
	if !b.now.Before(b.until) { // only skipped in this round
		return b.err.Error()
	}
	return fmt.Sprintf("%s (backing off until %s)", b.err, b.until.UTC().Format("15:04:05 MST"))
}

// Unwrap returns the failure.
func (b *backoffError) Unwrap() error { return b.err }

// BackoffAfter returns the pause after consecutive failures.
func BackoffAfter(failures int, random float64) time.Duration {
	pause := min(longestBackoff, firstBackoff<<min(failures-1, 10))
	return pause + time.Duration(random*float64(pause)/10)
}

// AskedUntil returns until when the server behind an error asks to be left alone; the zero time if it does not ask.
func AskedUntil(err error, now time.Time) time.Time {
	var limit *forge.RateLimit
	var busy *git.BusyError
	switch {
	case errors.As(err, &limit):
		return limit.Until
	case errors.As(err, &busy) && busy.After > 0:
		return now.Add(busy.After)
	}
	return time.Time{}
}

// recordOutcome requires m.mu.
func (m *Remote) recordOutcome(r *Set, err error) {
	now := r.options.Now()
	if err == nil {
		if m.failures > 0 {
			r.options.Logger.Info("a repository answers again", "repo", m.URL(), "after", now.Sub(m.failingSince))
		}
		m.err.Store(nil)
		m.unlogged, m.logged, m.failures, m.failingSince, m.retryAt = nil, nil, 0, time.Time{}, time.Time{}
		r.options.Metrics.SetRemoteFailing(m.URL(), false)
		return
	}
	if m.failures == 0 {
		m.failingSince = now
	}
	m.failures++
	m.err.Store(err)
	m.unlogged, m.retryAt = err, now.Add(BackoffAfter(m.failures, r.options.Random()))
	if asked := AskedUntil(err, now); asked.After(m.retryAt) {
		m.retryAt = asked
	}
	r.options.Metrics.SetRemoteFailing(m.URL(), true)
}

// LogFailures logs remotes that failed since the last call. It warns once: not if logged contains
// the error, and not again until the remote has answered or fails differently.
func (r *Set) LogFailures(logged []error) {
	r.mu.Lock()
	all := slices.SortedFunc(maps.Values(r.all), func(a, b *Remote) int { return strings.Compare(a.URL(), b.URL()) })
	r.mu.Unlock()
	for _, m := range all {
		m.logFailure(r.options.Logger, logged)
	}
}

func (m *Remote) logFailure(logger *slog.Logger, logged []error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.unlogged
	if err == nil {
		return
	}
	what, log := "a repository cannot be reached", logger.Warn
	if errors.Is(err, git.ErrDamaged) {
		what = "the mirror of a repository cannot be read"
	}
	if isSameFailure(err, m.logged) || slices.ContainsFunc(logged, func(l error) bool { return errors.Is(l, err) }) {
		log = logger.Debug
	}
	log(what, "repo", m.URL(), "error", err, "failures", m.failures, "next", m.retryAt)
	m.unlogged, m.logged = nil, err
}

// isSameFailure compares kinds, because texts may contain ports and the like.
func isSameFailure(a, b error) bool {
	var busyA, busyB *git.BusyError
	if (a == nil) != (b == nil) || errors.As(a, &busyA) != errors.As(b, &busyB) {
		return false
	}
	for _, kind := range []error{git.ErrNotFound, git.ErrAccess, git.ErrUnreachable, git.ErrDamaged} {
		if errors.Is(a, kind) != errors.Is(b, kind) {
			return false
		}
	}
	return true
}

// Package repos polls and opens the daemon's repositories, each with one mirror and one forge.
//
// A remote is asked once per round. A failing one gets growing pauses, and keeps its last readable
// state. Unnamed repositories are forgotten.
package repos

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Options has the dependencies of remotes. All are required except Metrics.
type Options struct {
	Settings     *config.Settings
	Author       git.Signature // for forges without an API
	Metrics      *metrics.Metrics
	Logger       *slog.Logger
	Now          func() time.Time
	Random       func() float64 // in [0, 1), for jitter
	BeforeEffect func(what string)
	// BeforeWrite refuses writing by an error; nil refuses nothing.
	BeforeWrite func(context.Context) error
	// Barrier limits a panic to the remote being read.
	Barrier panics.Barrier
}

// Set has all remotes. It is safe for concurrent use, except that rounds are sequential.
type Set struct {
	options Options
	keys    *access.Keyring
	mirrors Mirrors
	// within makes contexts for lazy fetches.
	within func(limit time.Duration) (context.Context, context.CancelFunc)

	mu        sync.Mutex
	hostSlots map[string]chan struct{} // a semaphore per host
	all       map[string]*Remote       // by normalized URL
	round     int
	reads     int // rounds that read the control plane
}

// Remote is a remote with its state.
type Remote struct {
	*git.Remote
	set          *Set
	mu           sync.Mutex // one exchange at a time
	location     string
	askedRound   int // last round that asked it
	skippedRound int // last round that skipped it
	lastReading  int // last reading that wanted it
	err          lastError
	unlogged     error // not yet seen by LogFailures
	logged       error // last logged failure; nil after an answer
	failures     int
	failingSince time.Time
	retryAt      time.Time // end of the pause
	checkedAt    time.Time

	forgeMu sync.Mutex
	forge   forge.Forge
}

// lastError is an error that is stored under a lock, and loaded without it: an exchange with a remote holds its lock for
// long. The zero value is nil.
type lastError struct{ stored atomic.Pointer[error] }

// Load returns the error that was stored last.
func (e *lastError) Load() error {
	if stored := e.stored.Load(); stored != nil {
		return *stored
	}
	return nil
}

// Store stores an error, or nil.
func (e *lastError) Store(err error) { e.stored.Store(&err) }

// forgetAfter is in readings.
const forgetAfter = 3

// New returns an empty Set. Lazy fetches stop when ctx ends.
func New(ctx context.Context, o Options) *Set {
	r := &Set{options: o, keys: access.New(o.Settings, o.Now), all: map[string]*Remote{}, hostSlots: map[string]chan struct{}{}}
	r.within = func(limit time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, limit)
	}
	r.mirrors = Mirrors{Dir: filepath.Join(o.Settings.DataDir, "git"), Options: r.remoteOptions}
	return r
}

// Poll begins a round, asks the remotes in a scope, and reports whether any moved.
func (r *Set) Poll(ctx context.Context, asked Scope) bool {
	known := r.beginRound(asked)
	moved := make([]bool, len(known))
	parallel.Each(len(known), known, func(i int, m *Remote) {
		moved[i], _ = r.syncOnce(ctx, m) // the remote keeps the error
	})
	return slices.Contains(moved, true)
}

// beginRound returns the remotes to ask. Others are skipped, unless they were never asked.
func (r *Set) beginRound(asked Scope) []*Remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round++
	var known []*Remote
	for key, m := range r.all {
		if asked.all || asked.some[strings.ToLower(key)] {
			known = append(known, m)
		} else if m.askedRound > 0 {
			m.skippedRound = r.round
		}
	}
	return known
}

// BeginReading begins a reading of the control plane, and forgets unwanted remotes.
func (r *Set) BeginReading() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	maps.DeleteFunc(r.all, func(_ string, m *Remote) bool { return m.lastReading < r.reads-forgetAfter })
}

// EndReading ends a reading. If it is complete, it forgets failing remotes that were not opened,
// such as a corrected URL.
func (r *Set) EndReading(complete bool) {
	if !complete {
		return
	}
	r.mu.Lock()
	unwanted := maps.Clone(r.all)
	maps.DeleteFunc(unwanted, func(_ string, m *Remote) bool { return m.lastReading == r.reads })
	r.mu.Unlock()
	for key, m := range unwanted {
		m.mu.Lock()
		fails := m.err.Load() != nil
		m.mu.Unlock()
		if fails {
			r.mu.Lock()
			delete(r.all, key)
			r.mu.Unlock()
			r.options.Metrics.SetRemoteFailing(m.URL(), false)
		}
	}
}

// Open returns the repository at a place in the state of this round, or the last readable state.
// Its mirror is complete from then on.
func (r *Set) Open(ctx context.Context, place string) (*git.Repository, error) {
	m, err := r.EnsureRemote(place)
	if err != nil {
		return nil, err
	}
	if m.RequireWhole() { // an output so far, so ask again in this round
		m.mu.Lock()
		m.askedRound = 0
		m.mu.Unlock()
	}
	return r.openRemote(ctx, m)
}

// OpenOutput returns the repository for writing. Unlike Open, its mirror may be partial.
func (r *Set) OpenOutput(ctx context.Context, place string) (*Remote, error) {
	m, err := r.EnsureRemote(place)
	if err != nil {
		return nil, err
	}
	if _, err := r.openRemote(ctx, m); err != nil {
		return nil, err
	}
	return m, nil
}

// openRemote returns the last mirror if the repository is unreachable. It fails if the content is
// the problem, or nothing was fetched.
func (r *Set) openRemote(ctx context.Context, m *Remote) (*git.Repository, error) {
	_, err := r.syncOnce(ctx, m)
	mirror := m.Mirror()
	if err == nil {
		return mirror, nil
	}
	var busy *git.BusyError
	var backingOff *backoffError
	if (errors.Is(err, git.ErrUnreachable) || errors.As(err, &busy) || errors.As(err, &backingOff) || panics.Is(err)) && hasReferences(mirror) {
		return mirror, nil
	}
	return nil, err
}

func hasReferences(mirror *git.Repository) bool {
	if mirror == nil {
		return false
	}
	refs, err := mirror.Refs("")
	return err == nil && len(refs) > 0
}

// HasRead reports whether a repository was ever read. An unread one was never written.
func (r *Set) HasRead(place string) bool {
	if m := r.KnownRemote(place); m != nil {
		return hasReferences(m.Mirror())
	}
	m, err := r.mirrors.newRemote(place)
	return err == nil && hasReferences(m.Mirror())
}

// EnsureRemote finds or creates the remote at a place.
func (r *Set) EnsureRemote(place string) (*Remote, error) {
	key := giturl.Normalize(place)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.all[key]; m != nil {
		m.lastReading = r.reads
		return m, nil
	}
	made, err := r.mirrors.newRemote(place)
	if err != nil {
		return nil, err
	}
	m := &Remote{Remote: made, set: r, location: place, lastReading: r.reads}
	r.all[key] = m
	return m, nil
}

func (r *Set) remoteOptions(place string) (git.RemoteOptions, error) {
	guard, err := access.GuardLocation(r.options.Settings, place)
	return git.RemoteOptions{
		Guard: guard, IsTrusted: r.options.Settings.NamesRepository, Timeout: r.options.Settings.Timeout,
		Credentials: r.keys.GitCredentials(place), NarrowPoll: true, Partial: true, NewContext: r.within, BeforePush: r.options.BeforeWrite,
		OnFilter: func(filter string) {
			r.options.Logger.Debug("what a mirror leaves at its server", "repo", giturl.Redact(place), "filter", cmp.Or(filter, "nothing"))
		},
		Observe: func(op string, took time.Duration, err error) {
			r.options.Metrics.RecordGitCall(op, giturl.Redact(place), took, err != nil)
		},
	}, err
}

// syncOnce asks a remote at most once per round, unless skipped, and fetches changes.
func (r *Set) syncOnce(ctx context.Context, m *Remote) (moved bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	passed := m.skippedRound == r.round
	if m.askedRound == r.round || passed && m.err.Load() == nil {
		return false, m.err.Load()
	}
	now := r.options.Now()
	if now.Before(m.retryAt) || passed {
		return false, &backoffError{now: now, until: m.retryAt, err: m.err.Load()}
	}
	leave, err := r.acquireHost(ctx, m.location)
	if err != nil {
		return false, err
	}
	defer leave()
	m.askedRound, m.checkedAt = r.round, now
	r.options.BeforeEffect("ask " + m.location)
	err = r.options.Barrier.Run("read", m.URL(), func() (err error) {
		moved, err = m.Sync(ctx)
		return err
	})
	if ctx.Err() != nil {
		m.askedRound = 0 // the remote did not fail
		return moved, err
	}
	recovered := err == nil && m.failures > 0
	m.recordOutcome(r, err)
	return moved || recovered, err
}

// maxPerHost limits concurrent requests, because servers have other clients too.
const maxPerHost = 8

func (r *Set) acquireHost(ctx context.Context, place string) (leave func(), err error) {
	host := "" // this machine
	if giturl.IsRemote(place) {
		host, _, _ = strings.Cut(giturl.Normalize(place), "/")
	}
	r.mu.Lock()
	room := r.hostSlots[host]
	if room == nil {
		room = make(chan struct{}, maxPerHost)
		r.hostSlots[host] = room
	}
	r.mu.Unlock()
	select {
	case room <- struct{}{}:
		return func() { <-room }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// HasAnswered reports whether a remote has answered in this round.
func (r *Set) HasAnswered(m *Remote) bool {
	r.mu.Lock()
	round := r.round
	r.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.askedRound == round && m.err.Load() == nil
}

// KnownRemote returns the remote at a place; nil if unknown.
func (r *Set) KnownRemote(place string) *Remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[giturl.Normalize(place)]
}

// RemoteError returns why a repository is unreachable; nil if it is not.
func (r *Set) RemoteError(place string) error {
	if m := r.KnownRemote(place); m != nil {
		return m.err.Load()
	}
	return nil
}

// Maintain runs maintenance of mirrors.
func (r *Set) Maintain(ctx context.Context) {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.all))
	r.mu.Unlock()
	for _, m := range all {
		if err := r.options.Barrier.Run("tidy", m.URL(), func() error { return m.Maintain(ctx) }); err != nil && ctx.Err() == nil {
			r.options.Logger.Warn("a mirror could not be tidied", "repo", m.URL(), "error", err)
		}
	}
}

// FindFailing returns the URLs of remotes whose failure is in err.
func (r *Set) FindFailing(err error) (urls []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.all {
		if failure := m.err.Load(); failure != nil && errors.Is(err, failure) {
			urls = append(urls, m.URL())
		}
	}
	slices.Sort(urls)
	return urls
}

// Report returns the state of the remotes, sorted by URL.
func (r *Set) Report() []status.Remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []status.Remote
	for _, m := range r.all {
		s := status.Remote{URL: m.URL(), Failures: m.failures, Since: m.failingSince, NextTry: m.retryAt, Checked: m.checkedAt}
		if failure := m.err.Load(); failure != nil {
			s.Error = failure.Error()
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b status.Remote) int { return strings.Compare(a.URL, b.URL) })
	return all
}

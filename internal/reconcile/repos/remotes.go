// Package repos polls and opens all repositories that the daemon knows, each with one mirror
// and one forge, however many environments are in it.
//
// What the package keeps true: a remote is asked for its references once a round; one
// that fails is left alone for a while, longer each time, and is as it was when it last
// could be read; what nothing names any more is forgotten.
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

// Options are what remotes need. All must be there but Metrics.
type Options struct {
	Settings *config.Settings
	Author   git.Signature // of what forges without an API write
	Metrics  *metrics.Metrics
	Logger   *slog.Logger
	Now      func() time.Time
	Random   func() float64 // in [0, 1), for jitter
	// BeforeEffect is called before a remote is asked.
	BeforeEffect func(what string)
	// Barrier keeps a panic while a remote is read with that remote.
	Barrier panics.Barrier
}

// Set is all remotes. It may be used concurrently, but for rounds, which follow each
// other.
type Set struct {
	options Options
	keys    *access.Keyring
	mirrors Mirrors
	// within makes the context of what is fetched while something is read.
	within func(limit time.Duration) (context.Context, context.CancelFunc)

	mu        sync.Mutex
	hostSlots map[string]chan struct{} // by host, with an element for each exchange that goes on
	all       map[string]*Remote       // by normalized URL
	round     int
	reads     int // rounds in which the control plane was read
}

// Remote is one of them, and how it fares.
type Remote struct {
	*git.Remote
	set          *Set
	mu           sync.Mutex // one exchange at a time
	location     string
	askedRound   int // in which it was last asked
	skippedRound int // the last round that did not ask it
	lastReading  int // the reading that last wanted it
	err          error
	unlogged     error // the last failure, until LogFailures was called
	logged       error // the failure that was logged last; nil if it has answered since
	failures     int
	failingSince time.Time // that it fails
	retryAt      time.Time // before which it is left alone
	checkedAt    time.Time

	forgeMu sync.Mutex
	forge   forge.Forge // once it was asked for
}

// forgetAfter is the number of readings after which a repository that nothing
// names is no longer asked.
const forgetAfter = 3

// New makes a Set that knows no remote yet. What is read when ctx has ended is not fetched.
func New(ctx context.Context, o Options) *Set {
	r := &Set{options: o, keys: access.New(o.Settings, o.Now), all: map[string]*Remote{}, hostSlots: map[string]chan struct{}{}}
	r.within = func(limit time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, limit)
	}
	r.mirrors = Mirrors{Dir: filepath.Join(o.Settings.DataDir, "git"), Options: r.remoteOptions}
	return r
}

// Poll begins a round: the remotes in a scope are asked for their references at once,
// and the others not at all. It reports whether one has moved.
func (r *Set) Poll(ctx context.Context, asked Scope) bool {
	known := r.beginRound(asked)
	moved := make([]bool, len(known))
	parallel.Each(len(known), known, func(i int, m *Remote) {
		moved[i], _ = r.syncOnce(ctx, m) // the error is kept with the remote
	})
	return slices.Contains(moved, true)
}

// beginRound begins a round, and returns the remotes that are to be asked. One that never was
// asked is not passed over: nothing is known of it.
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

// BeginReading begins a reading of the control plane: what the last ones did not want is
// forgotten.
func (r *Set) BeginReading() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	maps.DeleteFunc(r.all, func(_ string, m *Remote) bool { return m.lastReading < r.reads-forgetAfter })
}

// EndReading ends a reading. If all that the control plane names was opened in it, a remote that
// fails and was not is forgotten: a URL with a mistake is not asked once the mistake is mended.
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
		fails := m.err != nil
		m.mu.Unlock()
		if fails {
			r.mu.Lock()
			delete(r.all, key)
			r.mu.Unlock()
			r.options.Metrics.SetRemoteFailing(m.URL(), false)
		}
	}
}

// Open returns the repository at a place as this round has it. One that cannot be
// reached is as it was when it last could. Its mirror has all, from now on.
func (r *Set) Open(ctx context.Context, place string) (*git.Repository, error) {
	m, err := r.EnsureRemote(place)
	if err != nil {
		return nil, err
	}
	if m.RequireWhole() { // it was an output so far, and is asked though this round did already
		m.mu.Lock()
		m.askedRound = 0
		m.mu.Unlock()
	}
	return r.openRemote(ctx, m)
}

// OpenOutput returns the repository at a place for writing: unlike Open, it lets the mirror leave
// at the server what is not read.
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

// openRemote returns the mirror of a remote, as it was when the error is of the way to the repository,
// and not of what it holds. One whose first fetch failed has no references, and is not returned.
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

// hasReferences reports whether a mirror has any; nil has none.
func hasReferences(mirror *git.Repository) bool {
	if mirror == nil {
		return false
	}
	refs, err := mirror.Refs("")
	return err == nil && len(refs) > 0
}

// HasRead reports whether the repository at a place was ever read into the data folder. What was not
// was never written to either.
func (r *Set) HasRead(place string) bool {
	if m := r.KnownRemote(place); m != nil {
		return hasReferences(m.Mirror())
	}
	m, err := r.mirrors.newRemote(place)
	return err == nil && hasReferences(m.Mirror())
}

// EnsureRemote returns the remote at a place; it is made if it is new.
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
		Credentials: r.keys.GitCredentials(place), NarrowPoll: true, Partial: true, NewContext: r.within,
		OnFilter: func(filter string) {
			r.options.Logger.Debug("what a mirror leaves at its server", "repo", giturl.Redact(place), "filter", cmp.Or(filter, "nothing"))
		},
		Observe: func(op string, took time.Duration, err error) {
			r.options.Metrics.RecordGitCall(op, giturl.Redact(place), took, err != nil)
		},
	}, err
}

// syncOnce asks a remote, once a round and not in one that passes it over, and fetches
// what has moved.
func (r *Set) syncOnce(ctx context.Context, m *Remote) (moved bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	passed := m.skippedRound == r.round
	if m.askedRound == r.round || passed && m.err == nil {
		return false, m.err
	}
	now := r.options.Now()
	if now.Before(m.retryAt) || passed {
		return false, &backoffError{now: now, until: m.retryAt, err: m.err}
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
		m.askedRound = 0 // it was not the remote that failed
		return moved, err
	}
	recovered := err == nil && m.failures > 0
	m.recordOutcome(r, err)
	return moved || recovered, err
}

// maxPerHost bounds how many repositories of one server are asked at a time: a fleet has
// hundreds, and their server has others to answer too.
const maxPerHost = 8

// acquireHost waits until one more repository of the host of a place may be asked.
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
	return m.askedRound == round && m.err == nil
}

// KnownRemote returns the remote at a place; nil if there is none.
func (r *Set) KnownRemote(place string) *Remote {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[giturl.Normalize(place)]
}

// RemoteError returns why a repository cannot be reached; nil if it can.
func (r *Set) RemoteError(place string) error {
	if m := r.KnownRemote(place); m != nil {
		return m.err
	}
	return nil
}

// Maintain tidies mirrors that need it.
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

// FindFailing returns the URLs of the remotes whose failure an error is about.
func (r *Set) FindFailing(err error) (urls []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.all {
		if m.err != nil && errors.Is(err, m.err) {
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
		if m.err != nil {
			s.Error = m.err.Error()
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b status.Remote) int { return strings.Compare(a.URL, b.URL) })
	return all
}

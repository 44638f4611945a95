// Package fetch fetches what the sources of an output hold before and after they move, and builds
// their objects.
//
// Content is untrusted: it is bounded in size and time, and never run. Charts are rendered in a
// process of their own. Addresses of this machine are refused unless the settings name them. A look
// waits for a short time and no longer: what takes longer is in a later look.
package fetch

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// Options has what a Fetcher needs.
type Options struct {
	Dir string // of the cache
	// Relocate returns where a URL is read; nil for itself.
	Relocate func(url string) string
	// Guard is that of [access.GuardLocation]; nil guards all locations.
	Guard func(location string) (guarded bool, err error)
	// Credentials are as those of [git.RemoteOptions]; nil for none.
	Credentials func(url string) func(context.Context) (git.Credentials, error)
	// Builder is the command that runs [RunBuilder]; nil for this program.
	Builder []string
	// RenderTime bounds the rendering of a chart (default 20 s), and Patience the wait of a look.
	RenderTime, Patience time.Duration
	// Pauses are before a source that cannot be reached is asked again; nil for 2, 4 and 8 s.
	Pauses []time.Duration
	Now    func() time.Time
}

// The bounds of a look.
const (
	maxSources    = 100 // in one change
	maxConcurrent = 4
	maxTime       = time.Minute
	maxCache      = 1 << 30
)

// Fetcher fetches in the background. It is safe for concurrent use.
type Fetcher struct {
	options Options
	// within makes the contexts of work, which ends with the Fetcher's life.
	within  func(limit time.Duration) (context.Context, context.CancelFunc)
	ended   func() bool
	mirrors *repos.Mirrors
	slots   chan struct{}
	running sync.WaitGroup

	mu      sync.Mutex
	results recent.Map[inside.Source, *result]
}

// result is what is known of a source.
type result struct {
	built    inside.Built
	done     chan struct{} // closed when an attempt ends
	failures int
	retryAt  time.Time
}

// New returns a Fetcher whose work ends with life. A cache that has grown too large is removed.
func New(life context.Context, o Options) *Fetcher {
	if folderSize(o.Dir) > maxCache {
		os.RemoveAll(o.Dir)
	}
	if program, err := os.Executable(); err == nil && o.Builder == nil {
		o.Builder = []string{program, BuilderArgument}
	}
	if o.Pauses == nil {
		o.Pauses = []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}
	}
	o.RenderTime = cmp.Or(o.RenderTime, maxRenderTime)
	within := func(limit time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(life, limit)
	}
	f := &Fetcher{options: o, within: within, ended: func() bool { return life.Err() != nil }, slots: make(chan struct{}, maxConcurrent)}
	f.mirrors = &repos.Mirrors{Dir: filepath.Join(o.Dir, "git"), Options: func(location string) (git.RemoteOptions, error) {
		guarded, err := f.guard(location)
		return git.RemoteOptions{
			Guard: guarded, IsTrusted: func(url string) bool { return !f.isGuarded(url) }, Timeout: maxTime, Credentials: f.credentials(location), Partial: true,
			NewContext: within,
		}, err
	}}
	return f
}

// BuilderArgument is the only argument of a program that runs [RunBuilder].
const BuilderArgument = "render-chart"

// The times of a Fetcher.
const (
	// ShortPatience does not delay other environments.
	ShortPatience = 2 * time.Second
	// LongPatience waits for everything.
	LongPatience  = 2 * maxTime
	maxRenderTime = 20 * time.Second
)

// OptionsOf returns options that reach what the settings let the control plane name, with their
// credentials. This program is the builder.
func OptionsOf(s *config.Settings, now func() time.Time) Options {
	return Options{
		Dir: filepath.Join(s.DataDir, "inside"), Patience: ShortPatience, Now: now,
		Relocate:    func(url string) string { return access.ReadLocation(s, url) },
		Guard:       func(location string) (bool, error) { return access.GuardLocation(s, location) },
		Credentials: access.New(s, now).GitCredentials,
	}
}

// Wait waits for the end of the work in the background.
func (f *Fetcher) Wait() { f.running.Wait() }

func (f *Fetcher) guard(location string) (bool, error) {
	if f.options.Guard == nil {
		return true, nil
	}
	return f.options.Guard(location)
}

func (f *Fetcher) isGuarded(url string) bool {
	guarded, err := f.guard(url)
	return guarded || err != nil
}

func (f *Fetcher) credentials(url string) func(context.Context) (git.Credentials, error) {
	if f.options.Credentials == nil {
		return nil
	}
	return f.options.Credentials(url)
}

func (f *Fetcher) locate(url string) string {
	if f.options.Relocate == nil {
		return url
	}
	return f.options.Relocate(url)
}

// FindContents returns what the moved sources of a change hold. isOpen means that a later look may know
// more.
func (f *Fetcher) FindContents(ctx context.Context, old, new tree.Tree) (found map[inside.Place]inside.Contents, isOpen bool) {
	moves := inside.Find(old, new)
	wanted := map[inside.Source]bool{}
	for i, m := range moves {
		sources := m.ReadableSources()
		if len(wanted) >= maxSources && slices.ContainsFunc(sources, func(s inside.Source) bool { return !wanted[s] }) {
			moves[i].Reason = inside.TooMany
			continue
		}
		for _, s := range sources {
			wanted[s] = true
		}
	}
	f.await(ctx, f.startAll(wanted))
	found = inside.Collect(moves, f.known)
	for s := range wanted {
		isOpen = isOpen || f.known(s).Reason.IsTemporary()
	}
	return found, isOpen
}

// FindHeld returns what the sources of an assignment's folder hold.
func (f *Fetcher) FindHeld(ctx context.Context, assignment tree.Tree) []inside.Held {
	moves, wanted := inside.FindSources(assignment), map[inside.Source]bool{}
	for _, m := range moves {
		for _, s := range m.ReadableSources() {
			wanted[s] = true
		}
	}
	f.await(ctx, f.startAll(wanted))
	return list.Convert(moves, func(m inside.Move) inside.Held { return m.HeldBy(f.known) })
}

func (f *Fetcher) known(s inside.Source) inside.Built {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.results.Find(s); ok {
		return r.built
	}
	return inside.Built{Reason: inside.Pending}
}

// keptResults is how many results are kept until unused ones are dropped.
const keptResults = 4 * maxSources

// startAll begins to fetch what is not known, and returns what it began.
func (f *Fetcher) startAll(wanted map[inside.Source]bool) (begun []*result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.results.Len() > keptResults {
		f.results.Rotate()
	}
	for s := range wanted {
		r, known := f.results.Find(s)
		if !known {
			r = &result{built: inside.Built{Reason: inside.Pending}}
			f.results.Put(s, r)
		}
		if r.done != nil || !r.built.Reason.IsTemporary() || f.options.Now().Before(r.retryAt) {
			continue
		}
		r.done = make(chan struct{})
		begun = append(begun, r)
		f.running.Add(1)
		go f.fetchOne(s, r)
	}
	return begun
}

func (f *Fetcher) await(ctx context.Context, begun []*result) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Patience)
	defer cancel()
	for _, r := range begun {
		f.mu.Lock()
		done := r.done
		f.mu.Unlock()
		if done == nil {
			continue
		}
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

func (f *Fetcher) fetchOne(s inside.Source, r *result) {
	defer f.running.Done()
	ctx, cancel := f.within(maxTime) // with the wait for a slot
	defer cancel()
	built := inside.Built{Reason: inside.Unreachable}
	err := panics.Barrier{}.Run("look into", s.URL, func() error {
		select {
		case f.slots <- struct{}{}:
			defer func() { <-f.slots }()
			built = f.buildAgain(ctx, s)
		case <-ctx.Done():
		}
		return nil
	})
	if err != nil {
		built = inside.Built{Reason: inside.Failed}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if built.Reason.IsTemporary() {
		r.failures++
		r.retryAt = f.options.Now().Add(repos.BackoffAfter(r.failures, 0))
	}
	r.built = built
	close(r.done)
	r.done = nil
}

func (f *Fetcher) buildAgain(ctx context.Context, s inside.Source) inside.Built {
	built := f.build(ctx, s)
	for _, pause := range f.options.Pauses {
		if built.Reason != inside.Unreachable || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(pause):
			built = f.build(ctx, s)
		case <-ctx.Done():
		}
	}
	return built
}

func (f *Fetcher) build(ctx context.Context, s inside.Source) inside.Built {
	switch s.Kind {
	case inside.Git, inside.GitChart:
		return f.buildCommit(ctx, s)
	case inside.IndexedChart:
		return f.buildIndexed(ctx, s)
	}
	return f.buildArtifact(ctx, s)
}

// Package loop reconciles all environments, round after round: it polls, reads, renders,
// proposes, observes, promotes and reports.
//
// What the package keeps true:
//   - A cycle asks each remote for its references once; one that a webhook has begun
//     asks only those concerned. If none has moved, and nothing is left undone,
//     nothing else happens.
//   - Environments do not depend on each other: what stops one, a panic too, leaves the
//     others going, and its output stays as it is.
//   - Nothing is remembered that cannot be lost: a loop that is made anew comes to
//     the same end.
//   - What fails is tried again, later each time; retrying is decided here and
//     nowhere else.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/reconcile/importer"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/preview"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/scheduler"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
	"github.com/fairlead-io/fairlead/internal/render"
)

// Options are what a loop needs. Only the settings must be there.
type Options struct {
	Settings *config.Settings
	Store    *status.Store
	Metrics  *metrics.Metrics // nil for none
	Logger   *slog.Logger
	Now      func() time.Time
	Random   func() float64 // in [0, 1), for jitter
	Patience time.Duration  // how long a round waits for registries; 0 for 2 s
	// Inbox has what clusters have reported; nil for nothing.
	Inbox observe.ReportSource
	// Ledger knows how clusters stand to outputs; nil for none.
	Ledger promoter.Ledger
	// FindPlans returns the plans that clusters sent; nil for none.
	FindPlans promoter.FindPlans
	// Contents looks into sources that move; nil for nothing. It ends before the loop is closed.
	Contents *fetch.Fetcher
	// Outputs is told after each cycle where the outputs go. It must not wait; nil for nothing.
	Outputs func([]wanted.Branch)
	// Keys get the epochs that the base has; nil for none.
	Keys *observe.KeyRing
	// TrustedKeys prove whose approvals are; nil for those that the settings name.
	TrustedKeys *sign.Keys
	// Progress is called with what a round does and, while it works on environments, for how many of
	// them that is done; nil for none. It may be called at the same time by several.
	Progress func(what string, done, total int)
	// Replica shares the environments with other daemons; nil for the only one.
	Replica *shares.Replica
	// BeforeEffect is called before each side effect. Tests end the process there.
	BeforeEffect func(what string)
	// BeforeWork is called before each piece of work for one environment, pull request or
	// repository, inside of the barrier that keeps a panic there. Tests panic in it.
	BeforeWork func(work, of string)
}

func (o Options) withDefaults() Options {
	o.Store = cmp.Or(o.Store, &status.Store{})
	o.Patience = cmp.Or(o.Patience, 2*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.BeforeEffect == nil {
		o.BeforeEffect = func(string) {}
	}
	if o.Outputs == nil {
		o.Outputs = func([]wanted.Branch) {}
	}
	return o
}

func (o Options) proposalBranch(environment string) string {
	return o.Settings.Output.BranchPrefix + environment
}

func (o Options) findContents() func(context.Context, tree.Tree, tree.Tree) (map[inside.Place]inside.Contents, bool) {
	if o.Contents == nil {
		return nil
	}
	return o.Contents.FindContents
}

// Loop is the daemon's work. A cycle or a simulation begins when the one that runs is over.
type Loop struct {
	options     Options
	remotes     *repos.Set
	source      *source.Source
	author      git.Signature
	sign        git.Signer
	barrier     panics.Barrier
	unlock      func()
	processEnds func() bool   // the process does
	turn        chan struct{} // has an element while a cycle or a simulation runs
	asks        chan struct{} // has an element while forges are asked for the history

	number       int64
	held         shares.Round
	beforeWrite  func(context.Context) error
	woken        bool      // the cycle, by an event
	roundTime    time.Time // the round: what is decided in it is decided of one time
	nextPoll     time.Time // the next cycle that asks all repositories
	environments map[string]*environment
	records      publish.Records
	witness      publish.Witness // of another daemon
	undone       bool            // something must be tried again though no reference moves
	hasWorked    bool            // since memory was last given back, something has moved
	opened       bool
	previews     *preview.Previewer
	retirement   *retirement
	planReports  []planReport // of the round
	ephemerals   *ephemeralLife
	schedulers   *scheduler.Desk
	registries   *registry.Client
	inventories  *importer.Desk
	nextAsk      time.Time // when an external scheduler or an inventory is to be asked, or what a Placement decided is old; zero for never
	wakes        *wakeRequests
	promoter     *promoter.Promoter
	orders       promoter.Policy
	sharedMu     sync.Mutex
	shared       map[string]*sharedIssue // by normalized location of a GitOps repository
	logged       loggedErrors
	listedPulls  map[*repos.Remote][]forge.Pull // the open ones, as this round has listed them
	pullEvents   map[*repos.Remote]pullEvents   // what forges told for the history
	pullErrors   map[string]string              // by repository, why its pull requests could not be read last
	deployed     map[string]deployedLine        // by environment, for the history
	vanished     []string                       // the environments that the control plane had, if it has none now; sorted, never written to
	unreadable   error                          // why the control plane could not be read in this round; an old copy of it may be used
}

// lockWait is how long we wait for another process to leave our data folder.
const lockWait = 2 * time.Second

// New returns a loop that holds the lock of its data folder until Close: one process at a
// time uses a folder. The loop reads nothing from servers once ctx has ended.
func New(ctx context.Context, o Options) (*Loop, error) {
	o = o.withDefaults()
	l := &Loop{options: o, environments: map[string]*environment{}, wakes: &wakeRequests{news: make(chan struct{}, 1)}, turn: make(chan struct{}, 1), asks: make(chan struct{}, 1), pullErrors: map[string]string{}, pullEvents: map[*repos.Remote]pullEvents{}, deployed: map[string]deployedLine{}, shared: map[string]*sharedIssue{}}
	l.witness.Tell = func(branch, commit string) {
		if o.Replica != nil {
			return
		}
		o.Logger.Warn("another Fairlead proposes the output of this control plane, too: stop one of them, unless both are meant to run",
			"branch", branch, "commit", commit, "see", "docs/how-to/high-availability.md")
	}
	s := o.Settings
	l.processEnds = func() bool { return ctx.Err() != nil }
	l.barrier = panics.Barrier{Before: o.BeforeWork, Report: func(work, of string, e *panics.Error) {
		o.Logger.Error("panic", "id", e.ID, "work", work, "of", of, "kind", e.Kind, "stack", e.Stack) // people see the id elsewhere
	}}
	l.author = git.Signature{Name: s.Author.Name, Email: s.Author.Email}
	var err error
	l.sign, err = NewSigner(s.Signing)
	if err != nil {
		return nil, err
	}
	if o.TrustedKeys == nil {
		keys, err := NewTrustedKeys(s)
		if err != nil {
			return nil, err
		}
		l.options.TrustedKeys = &keys
	}
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	l.unlock, err = lock.AcquireWithPID(limited, s.LockFile())
	if err != nil {
		var held *lock.HeldError
		if errors.As(err, &held) {
			err = fmt.Errorf("%w, a fairlead serve most likely", held)
		}
		return nil, fmt.Errorf("take the data folder %s: %w", s.DataDir, err)
	}
	if err := CheckDataFolder(s); err != nil {
		l.unlock()
		return nil, err
	}
	l.remotes = repos.New(ctx, repos.Options{
		Settings: o.Settings, Author: l.author, Metrics: o.Metrics, Logger: o.Logger, Now: o.Now, Random: o.Random, BeforeEffect: o.BeforeEffect, BeforeWrite: func(ctx context.Context) error { return l.beforeWrite(ctx) },
		Barrier: l.barrier,
	})
	l.registries = registry.FromSettings(s, l.remotes.Keyring(), o.Now)
	registry.WaitNoLonger(l.registries, o.Patience, l.barrier, l.WakeWithoutPoll)
	l.beforeWrite = o.Replica.Check
	startWork(l)
	return l, nil
}

// Close releases the data folder.
func (l *Loop) Close() {
	if l.options.Contents != nil {
		l.options.Contents.Wait()
	}
	l.registries.Close()
	l.unlock()
}

// Keyring returns the credentials with which repositories and their forges are reached.
func (l *Loop) Keyring() *access.Keyring { return l.remotes.Keyring() }

// KnowsRepository reports whether the loop reads a repository, by its normalized URL.
func (l *Loop) KnowsRepository(normal string) bool { return l.remotes.KnowsRepository(normal) }

// sourceOptions returns the options of a new source of the control plane, whose parser reads
// nothing more once the process ends.
func (l *Loop) sourceOptions() source.Options {
	s, parser := l.options.Settings, model.NewParser()
	parser.Canceled = l.processEnds
	return source.Options{
		ControlPlane: s.ControlPlane.Repo, BaseBranch: s.ControlPlane.Branch, Map: s.Map, Open: l.remotes.Open, Parser: parser, Barrier: l.barrier, Registries: l.registries,
		RenderTimeout: s.RenderTimeout, Rendering: render.Options{PublishMissing: s.MissingValues == "publish"},
	}
}

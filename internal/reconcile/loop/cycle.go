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
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/git/sign"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/preview"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
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
	// Inbox has what clusters have reported; nil for nothing.
	Inbox *observe.Inbox
	// BeforeEffect is called before each side effect. Tests end the process there.
	BeforeEffect func(what string)
	// BeforeWork is called before each piece of work for one environment, pull request or
	// repository, inside of the barrier that keeps a panic there. Tests panic in it.
	BeforeWork func(work, of string)
}

func (o Options) withDefaults() Options {
	if o.Store == nil {
		o.Store = &status.Store{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.BeforeEffect == nil {
		o.BeforeEffect = func(string) {}
	}
	return o
}

// Loop is the daemon's work. Its cycles must not overlap.
type Loop struct {
	options     Options
	remotes     *repos.Set
	source      *source.Source
	author      git.Signature
	sign        git.Signer
	barrier     panics.Barrier
	unlock      func()
	processEnds func() bool // the process does

	number       int64
	roundTime    time.Time // the round: what is decided in it is decided of one time
	nextPoll     time.Time // the next cycle that asks all repositories
	environments map[string]*environment
	records      publish.Records
	undone       bool // something must be tried again though no reference moves
	hasWorked    bool // since memory was last given back, something has moved
	opened       bool
	previews     *preview.Previewer
	retired      []retiredOutput // that have left the control plane, or a place
	searched     bool            // there is no more than is known of that
	complete     bool            // all environments that there are were read
	ephemerals   ephemerals
	wakes        *wakeRequests
	promoter     *promoter.Mover
	orders       promoter.Orders
	pullErrors   map[string]string // by repository, why its pull requests could not be read last
}

// lockWait is how long we wait for another process to leave our data folder.
const lockWait = 2 * time.Second

// New returns a loop that holds the lock of its data folder until Close: one process at a
// time uses a folder. The loop reads nothing from servers once ctx has ended.
func New(ctx context.Context, o Options) (*Loop, error) {
	o = o.withDefaults()
	l := &Loop{options: o, environments: map[string]*environment{}, wakes: newWakes(), pullErrors: map[string]string{}}
	s := o.Settings
	l.processEnds = func() bool { return ctx.Err() != nil }
	l.barrier = panics.Barrier{Before: o.BeforeWork, Report: l.reportPanic}
	l.author = git.Signature{Name: s.Author.Name, Email: s.Author.Email}
	var err error
	l.sign, err = newSigner(s.Signing)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	l.unlock, err = lock.AcquireWithPID(limited, filepath.Join(s.DataDir, "lock"))
	if err != nil {
		var held *lock.HeldError
		if errors.As(err, &held) {
			err = fmt.Errorf("%w, a fairlead serve most likely: it does what is to be done, and fairlead status --url says what it does. For another fleet set another dataDir", held)
		}
		return nil, fmt.Errorf("take the data folder %s: %w", s.DataDir, err)
	}
	l.remotes = repos.New(ctx, repos.Options{
		Settings: o.Settings, Author: l.author, Metrics: o.Metrics, Logger: o.Logger, Now: o.Now, Random: o.Random, BeforeEffect: o.BeforeEffect,
		Barrier: l.barrier,
	})
	l.previews = preview.New(preview.Options{
		Settings: s, Remotes: l.remotes, SourceOptions: l.sourceOptions, Author: l.author, Logger: o.Logger, Now: o.Now, Random: o.Random,
		BeforeEffect: o.BeforeEffect, Barrier: l.barrier,
	})
	l.promoter = promoter.New(promoter.Options{
		Settings: s, Remotes: l.remotes, Store: o.Store, Metrics: o.Metrics, Logger: o.Logger, Random: o.Random,
		Author: l.author, Sign: l.sign, Step: o.BeforeEffect, Moved: l.Wake, Records: &l.records, Inbox: o.Inbox,
		Barrier: l.barrier,
	})
	return l, nil
}

// Close releases the data folder.
func (l *Loop) Close() { l.unlock() }

func newSigner(s *config.Signing) (git.Signer, error) {
	if s == nil {
		return nil, nil
	}
	key, parse := s.SSH, sign.SSH
	if key == nil {
		key, parse = s.GPG, sign.GPG
	}
	text, err := key.Key.Read()
	if err != nil {
		return nil, fmt.Errorf("read the signing key: %w", err)
	}
	passphrase, err := readOptional(key.Passphrase)
	if err != nil {
		return nil, fmt.Errorf("read the signing key's passphrase: %w", err)
	}
	return parse([]byte(text.Reveal()+"\n"), passphrase)
}

func readOptional(ref *config.SecretRef) (string, error) {
	if ref == nil {
		return "", nil
	}
	secret, err := ref.Read()
	return secret.Reveal(), err
}

// Cycle runs one round that polls all repositories, and reports it to the store. It returns
// an error if the control plane could not be read; what goes wrong in one environment is in
// its report.
func (l *Loop) Cycle(ctx context.Context) error { return l.runCycle(ctx, nil) }

// runCycle does a round that asks some of the repositories. The others are taken as they
// were, and when all are asked next does not change.
func (l *Loop) runCycle(ctx context.Context, asked repos.Scope) error {
	l.number++
	started := l.options.Now()
	l.roundTime = started
	l.promoter.Begin(started)
	l.options.Store.BeginCycle(started)
	err := l.isolateRound(ctx, asked)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c := status.Cycle{Number: l.number, Started: started, Took: l.options.Now().Sub(started), Outcome: status.OutcomeOK}
	if err != nil {
		c.Outcome, c.Error = status.OutcomeFailed, err.Error()
		l.options.Logger.Error("the control plane could not be read", "error", err)
	}
	if asked == nil {
		l.nextPoll = l.options.Settings.NextPoll(l.options.Now(), l.options.Random())
	}
	c.Next = l.nextPoll
	l.options.Store.SetCycle(c)
	l.options.Store.SetRemotes(l.remotes.Report())
	l.options.Metrics.RecordCycle(started.Add(c.Took), c.Took, err == nil)
	l.options.Logger.Debug("cycle", "number", c.Number, "took", c.Took, "next", c.Next)
	return err
}

func (l *Loop) runRound(ctx context.Context, asked repos.Scope) error {
	moved := l.remotes.Poll(ctx, asked)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	moved = l.checkPulls(ctx) || moved
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if up := l.isTimeUp(); l.opened && !moved && !l.undone && !up {
		if l.promoter.Due(asked != nil) || l.promoter.CheckPulls(ctx) {
			l.undone = l.promoter.Move(ctx, l.source, l.environmentReports())
		}
		l.previews.Preview(ctx, l.source, l.orders.Limits)
		l.freeMemory()
		return l.reportControlPlane(nil)
	}
	l.hasWorked = true
	l.options.Logger.Debug("there is something to do", "moved", moved, "undone", l.undone)
	err := l.refreshSource(ctx)
	if err := l.reportControlPlane(err); err != nil {
		return err
	}
	names, certain, err := l.listEnvironments(ctx)
	if err != nil {
		return l.reportControlPlane(err)
	}
	l.orders, err = l.promoter.Orders(ctx, l.source)
	if err != nil {
		return l.reportControlPlane(err)
	}
	names, err = l.addEphemerals(ctx, names)
	if err != nil {
		return l.reportControlPlane(err)
	}
	if err := l.forgetRetired(names, certain); err != nil {
		return l.reportControlPlane(err)
	}
	l.complete = certain
	l.reconcileEnvironments(ctx, names)
	if l.promoter.Move(ctx, l.source, l.environmentReports()) {
		l.undone = true
	}
	l.retireEnvironments(ctx)
	l.previews.Preview(ctx, l.source, l.orders.Limits)
	l.remotes.Maintain(ctx)
	return ctx.Err()
}

// freeMemory returns the memory that rendering and packing have left: once, in the first
// round in which nothing has moved. Go would keep it for some minutes, and collects it
// only when as much again was asked for: of 100,000 assignments that is two to four times
// what we keep. Here nothing waits for the collection.
func (l *Loop) freeMemory() {
	if l.hasWorked {
		debug.FreeOSMemory()
		l.hasWorked = false
	}
}

// environmentReports returns the latest report of each environment.
func (l *Loop) environmentReports() map[string]status.Environment {
	all := make(map[string]status.Environment, len(l.environments))
	for name, e := range l.environments {
		all[name] = e.report
	}
	return all
}

// Simulate returns when a commit of the base would reach each environment under today's
// gates. It changes nothing. The loop must have done a cycle.
func (l *Loop) Simulate(ctx context.Context, revision string) ([]promote.Arrival, error) {
	l.promoter.Begin(l.options.Now())
	return l.promoter.Simulate(ctx, l.source, l.environmentReports(), revision)
}

// KnowsRepository reports whether the loop reads a repository, by its normalized URL.
func (l *Loop) KnowsRepository(normal string) bool { return l.remotes.KnowsRepository(normal) }

// sourceOptions returns the options of a new source of the control plane, whose parser reads
// nothing more once the process ends.
func (l *Loop) sourceOptions() source.Options {
	s, parser := l.options.Settings, model.NewParser()
	parser.Canceled = l.processEnds
	return source.Options{
		ControlPlane: s.ControlPlane.Repo, BaseBranch: s.ControlPlane.Branch, Map: s.Map, Open: l.remotes.Open, Parser: parser, Barrier: l.barrier,
		RenderTimeout: s.RenderTimeout, Rendering: render.Options{PublishMissing: s.MissingValues == "publish"},
	}
}

// refreshSource has the control plane read as it is now.
func (l *Loop) refreshSource(ctx context.Context) (err error) {
	l.remotes.BeginReading()
	if l.source != nil {
		return l.source.Refresh(ctx)
	}
	s, err := source.Open(ctx, l.sourceOptions())
	if err == nil {
		l.source, l.opened = s, true
	}
	return err
}

// reportControlPlane reports to the store whether the control plane can be read. It cannot
// either when an old copy of it is used.
func (l *Loop) reportControlPlane(err error) error {
	shown := err
	if shown == nil {
		shown = l.remotes.RemoteError(l.readLocation(l.options.Settings.ControlPlane.Repo))
	}
	text := ""
	if shown != nil {
		text = shown.Error()
	}
	l.options.Store.SetControlPlane(text)
	if err != nil {
		l.undone = true
	}
	return err
}

// listEnvironments returns the environments to work on, and whether it is certain that these are all.
// The problems of the files that they are written in are reported with each of them.
func (l *Loop) listEnvironments(ctx context.Context) (names []string, certain bool, err error) {
	found, problems, err := l.source.Environments(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, e := range found {
		if len(l.options.Settings.Environments) == 0 || slices.Contains(l.options.Settings.Environments, e.Name) {
			names = append(names, e.Name)
		}
	}
	names = slices.Compact(names)
	for _, name := range l.options.Settings.Environments {
		if slices.Contains(names, name) {
			continue
		}
		left, err := l.hasLeft(name, !problems.Stops() && !l.source.HasUnread())
		if err != nil {
			return nil, false, err
		}
		if !left {
			names = append(names, name) // to be reported: there is no such environment
		}
	}
	if len(names) == 0 {
		hint := "an object of kind Environment in .environments/ of the base makes one"
		l.options.Logger.Warn("the control plane has no environments", "hint", hint)
	}
	return names, !problems.Stops() && !l.source.HasUnread(), nil
}

// forgetRetired drops what is known of environments that are gone. If that is not certain, one may
// only seem to be, because its file cannot be read: what was written for it stays.
func (l *Loop) forgetRetired(names []string, certain bool) error {
	for name, e := range l.environments {
		if slices.Contains(names, name) {
			continue
		}
		gone := certain || e.ephemeral != nil
		if gone && e.ephemeral == nil {
			named, err := l.source.StillNamed(name)
			if err != nil {
				return err
			}
			gone = len(named) == 0
			if !gone {
				l.options.Logger.Warn("an environment is missing, and a file with the environments has its name still: what it has stays", "environment", name)
			}
		}
		if gone {
			l.noteRetired(e)
		} else {
			l.searched = false // for when it is certain
		}
		delete(l.environments, name)
		l.options.Metrics.ForgetEnvironment(name)
	}
	for _, name := range names {
		if l.environments[name] == nil {
			l.environments[name] = &environment{name: name}
		}
		l.environments[name].ephemeral = l.ephemerals.all[name]
	}
	l.options.Store.Forget(names)
	return nil
}

// reconcileEnvironments works on all environments, some at a time. All are rendered before the first is
// published: only then is it known whether two would write to one place.
func (l *Loop) reconcileEnvironments(ctx context.Context, names []string) {
	var all []*environment
	for _, name := range names {
		all = append(all, l.environments[name])
	}
	parallel.Each(l.options.Settings.Parallel, all, func(_ int, e *environment) { l.renderEnvironment(ctx, e) })
	l.checkLocations(ctx, all)
	l.findRivals(ctx, all)
	retry := l.searchLeftovers(ctx, all)
	l.options.Metrics.SetQueueLength(len(all))
	left := len(all)
	var mu sync.Mutex
	parallel.Each(l.options.Settings.Parallel, all, func(_ int, e *environment) {
		again := l.publishEnvironment(ctx, e)
		mu.Lock()
		defer mu.Unlock()
		left--
		l.options.Metrics.SetQueueLength(left)
		retry = retry || again
	})
	l.undone = retry
}

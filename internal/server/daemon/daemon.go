// Package daemon assembles the long-running program: the loop, its HTTP server, and the
// repositories that a new user starts with.
//
// What the package keeps true: no cycle runs if the address cannot be listened on; when
// ctx ends, everything that was started ends first, and that is no error; a repository
// that is not empty is not written to by [Repositories.Create].
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git/lock"
	"github.com/fairlead-io/fairlead/internal/git/program"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/fetch"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/session"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/server/webhook"
)

// Options configures a daemon.
type Options struct {
	Settings *config.Settings
	Version  string
	Log      io.Writer
	// Now is the clock; nil for that of the machine.
	Now func() time.Time
	// Ready is called with the address once the server listens; it may be nil.
	Ready func(address string)
	// After is called after each cycle that was not interrupted, with the state then, when what
	// clusters have reported is stored, so that commands know it; it may be nil.
	After func(status.Snapshot)
	// Local is whoever asks from this machine, who may do everything at the page; nil for nobody. It takes the place of
	// web.signIn.
	Local *session.Person
}

// GCPercent is GOGC for a process that is only a daemon: the first cycle of a large fleet
// needs a tenth less memory, for one or two percent of the CPU time.
const GCPercent = 75

// NewLogger returns the logger that the settings ask for.
func NewLogger(s config.Log, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{}
	if s.Level == "debug" {
		o.Level = slog.LevelDebug
	}
	if s.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// maxCycles bounds the cycles of one call of [RunOnce]: each promotes a commit to one more
// environment.
const maxCycles = 20

// RunOnce runs a cycle, and another as long as the last one promoted a commit, and returns
// the state at the end.
func RunOnce(ctx context.Context, o Options) (status.Snapshot, error) {
	store := &status.Store{}
	logger := NewLogger(o.Settings.Log, o.Log)
	loop, reports, _, err := newLoop(ctx, o, fetch.LongPatience, loop.Options{Store: store, Logger: logger})
	if err != nil {
		return status.Snapshot{}, err
	}
	defer closeReports(reports, logger)
	defer loop.Close()
	for range maxCycles {
		err = loop.Cycle(ctx)
		if err != nil || !o.Settings.Write {
			break
		}
		promoted := func(s status.Stage) bool { return s.Next.State == promote.Promotes }
		if !slices.ContainsFunc(store.Snapshot().Chain.Stages, promoted) {
			break
		}
	}
	reports.RecordToldOutputs(ctx)
	return store.Snapshot(), err
}

// newLoop returns a loop, and the reports and plans of clusters that it reads: those that the last process has
// stored, and those that come.
func newLoop(ctx context.Context, o Options, patience time.Duration, with loop.Options) (*loop.Loop, *recorder.Recorder, *sentPlans, error) {
	if access.HasLocalRepository(o.Settings) {
		if _, err := program.Version(ctx); err != nil {
			return nil, nil, nil, fmt.Errorf("repositories on this machine are reached with Git: %w", err)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	look := fetch.OptionsOf(o.Settings, o.Now)
	look.Patience = patience
	with.Contents = fetch.New(ctx, look)
	var started atomic.Pointer[loop.Loop]
	plans := newSentPlans(with.Store, with.Logger, o.Now)
	reports := openReports(ctx, o, with, func() {
		plans.expect()
		l := started.Load()
		if l != nil { // or else it reads them when it starts
			l.WakeWithoutPoll()
		}
	})
	plans.reports = reports
	plans.restore(ctx)
	with.FindPlans = with.Store.FindPlans
	with.Settings, with.Inbox, with.Ledger, with.Now = o.Settings, reports, findLedger(o.Settings, reports), o.Now
	if with.Ledger != nil { // or else nobody asks what clusters should run
		with.Outputs = reports.TellOutputs
	}
	l, err := loop.New(ctx, with)
	if err != nil {
		closeReports(reports, with.Logger)
	}
	started.Store(l)
	return l, reports, plans, err
}

func closeReports(reports *recorder.Recorder, logger *slog.Logger) {
	err := reports.Close()
	if err != nil {
		logger.Warn("the last reports of clusters could not be stored", "error", err)
	}
}

// Serve runs cycles and answers requests until ctx ends, which is no error.
func Serve(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	store, m, logger := &status.Store{}, metrics.New(o.Version), NewLogger(o.Settings.Log, o.Log)
	keys := observe.NewKeyRing(o.Settings.LedgerSecrets)
	var started atomic.Pointer[loop.Loop]
	replica, err := newReplica(o, m, logger, &started)
	if err != nil {
		return err
	}
	loop, reports, plans, err := newLoop(ctx, o, fetch.ShortPatience, loop.Options{Store: store, Metrics: m, Logger: logger, Keys: keys, Replica: replica})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer closeReports(reports, logger)
	defer loop.Close()
	started.Store(loop)
	wake := func(repo string) {
		loop.Wake(repo)
		replica.Wake(repo)
	}
	var listener net.Listener
	if o.Settings.Listen != "" {
		listener, err = net.Listen("tcp", o.Settings.Listen)
		if err != nil {
			return describeListenError(o.Settings.Listen, err)
		}
		logger.Info("listening", "address", listener.Addr().String())
		if err := lock.WriteAddress(o.Settings.LockFile(), listener.Addr().String()); err != nil {
			logger.Warn("the address could not be written to the data folder", "error", err)
		}
	}
	if !o.Settings.Write {
		logger.Warn("writing is off: nothing is pushed or proposed until the settings say write: true")
	}
	hooks := newWebhooks(ctx, o, m, logger, loop, reports, plans, keys, wake)
	people, err := newPeople(o, store, m, logger, func() { wake("") })
	if err != nil {
		return err
	}
	window := web.CheckHost(o.Settings.WebHosts(), web.New(web.Options{
		People: people,
		Store:  store, Metrics: m, Version: o.Version, URL: o.Settings.Web.URL, Now: o.Now, Logger: logger, OverdueAfter: o.Settings.OverdueAfter,
		Wake: func() { wake("") }, Webhooks: hooks, Plans: webhook.NewPlanReviewer(m.RecordWebhook), Simulate: loop.Simulate, ExplainLanes: loop.ExplainLanes, Explain: explainQuery(loop), Past: newPast(loop), History: loop.History, Pull: loop.ReadPull, Compare: loop.CompareEnvironments, StyleGuide: hasStyleGuide, CheckLedger: reports.Check,
		Fleet: newFleetView(o, reports), Reports: newAgentReports(o.Settings, reports, agentReports{keys.FindKeys, o.Now, store, loop.WakeWithoutPoll, m.RecordFleetReport, logger}),
	}))
	check := func(ctx context.Context) { runChecks(ctx, o, loop.Keyring(), reports, store, logger) }
	keepPlans := func(ctx context.Context) { plans.run(ctx, loop.WakeWithoutPoll) }
	defer runReplica(ctx, replica)()
	return runUntilDone(ctx, loop, reports, store, o, listener, window, check, keepPlans)
}

func newWebhooks(ctx context.Context, o Options, m *metrics.Metrics, logger *slog.Logger, loop *loop.Loop, reports *recorder.Recorder, plans *sentPlans, keys *observe.KeyRing, wake func(repo string)) http.Handler {
	return webhook.New(webhook.Options{
		Secrets: o.Settings.WebhookSecrets, Known: loop.KnowsRepository, Now: o.Now, Observe: m.RecordWebhook,
		Wake: func(e webhook.Event) {
			if e.Kind != webhook.Report {
				wake(e.Repo)
			}
		},
		ClusterKeys: keys.FindKeys, Refuse: reports.RefuseKey,
		Plan:  plans.receive(ctx, loop.WakeWithoutPoll),
		Costs: o.Settings.Costs.Reader(),
		Report: func(e observe.Event) (news bool, err error) {
			news, err = reports.Add(e)
			if webhook.IsRefusal(err) {
				return false, err
			}
			if err != nil {
				logger.Warn("what a cluster has reported could not be written down", "cluster", e.Cluster, "error", err)
			}
			if news {
				loop.WakeWithoutPoll()
			}
			return news, nil
		},
	})
}

func explainQuery(l *loop.Loop) func(ctx context.Context, environment, query string) (explain.Document, error) {
	return func(ctx context.Context, environment, query string) (explain.Document, error) {
		answer, err := l.Explain(ctx, environment, query)
		if err != nil {
			return explain.Document{}, err
		}
		return answer.Document(), nil
	}
}

func newPast(l *loop.Loop) *web.Past {
	explainPast := func(ctx context.Context, environment string, at history.Moment, query string) (explain.Document, history.Output, error) {
		answer, output, err := l.ExplainPast(ctx, environment, at, query)
		if err != nil {
			return explain.Document{}, output, err
		}
		return answer.Document(), output, nil
	}
	return &web.Past{Explain: explainPast, Compare: l.ComparePast, Plan: l.PlanPast, Changes: l.ChangesPast, Chain: l.ChainPast, Time: l.TimePast}
}

// CheckListen returns the error that Serve would return for an address, with what to do about it.
func CheckListen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return describeListenError(address, err)
	}
	return listener.Close()
}

func describeListenError(address string, err error) error {
	var inner *net.OpError
	if errors.As(err, &inner) {
		err = inner.Err // without the address
	}
	var cause syscall.Errno
	errors.As(err, &cause)
	hint := "listen in the settings is HOST:PORT; :PORT is all addresses of this machine"
	switch cause {
	case syscall.EADDRINUSE:
		hint = "another program has that port, perhaps another fairlead serve: stop it, or write another port into listen of the settings"
	case syscall.EACCES:
		hint = "ports below 1024 need special rights: write a higher one into listen of the settings"
	case syscall.EADDRNOTAVAIL:
		hint = "this machine does not have that address: write one of its own into listen of the settings, or :PORT for all of them"
	}
	return problem.WithHint(fmt.Errorf("listen on %s: %w", address, err), hint)
}

// runUntilDone runs the loop, stores the reports of clusters, and runs the HTTP server, and the checks that it shows, if there is a
// listener, until ctx ends or the server fails, and waits for all.
func runUntilDone(ctx context.Context, loop *loop.Loop, reports *recorder.Recorder, store *status.Store, o Options, listener net.Listener, window http.Handler, check, keepPlans func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	var broken error
	if listener != nil {
		wait.Go(func() {
			broken = web.Serve(ctx, listener, window)
			stop()
		})
		wait.Go(func() { check(ctx) })
		if o.Ready != nil {
			o.Ready(listener.Addr().String())
		}
	}
	wait.Go(func() { keepPlans(ctx) })
	wait.Go(func() { reports.Run(ctx) })
	wait.Go(func() { reports.RecordOutputs(ctx) })
	loop.Run(ctx, func() {
		if o.After != nil && ctx.Err() == nil {
			_ = reports.Flush(ctx) // it is logged
			o.After(store.Snapshot())
		}
	})
	stop()
	wait.Wait()
	return broken
}

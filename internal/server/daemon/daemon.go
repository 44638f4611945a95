// Package daemon puts the parts of the long-running program together: the loop, its
// window, and the repositories that a new user begins with.
//
// What the package keeps true: nothing is begun if the window cannot be opened; when
// it is told to end, all that it has started ends first, and that is no error; a
// repository that [Repositories.Start] fills is empty before, or left alone.
package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git/program"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/server/webhook"
)

// Options are what a daemon needs.
type Options struct {
	Settings *config.Settings
	Version  string
	Log      io.Writer
	// Ready is told the address once the window is open; nil for nobody.
	Ready func(address string)
	// After is called after each cycle that ended by itself, with what is known then;
	// nil for nobody.
	After func(status.Snapshot)
}

// GCPercent is how much of what is in use may be added before the garbage collector runs
// (GOGC), in a process that does nothing else: of a first run of a large fleet it takes a
// tenth of the memory, for a hundredth or two of the CPU time.
const GCPercent = 75

// Logger gives the logger that the settings ask for.
func Logger(s config.Log, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{}
	if s.Level == "debug" {
		o.Level = slog.LevelDebug
	}
	if s.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// maxSteps bounds how many cycles a run of [Once] has: each takes a commit one
// environment further.
const maxSteps = 20

// Once runs one cycle, and another for each time that a commit got further, and gives
// what came of it.
func Once(ctx context.Context, o Options) (status.Snapshot, error) {
	store := &status.Store{}
	loop, err := newLoop(ctx, o, store, nil, inbox(o))
	if err != nil {
		return status.Snapshot{}, err
	}
	defer loop.Close()
	for range maxSteps {
		err = loop.Cycle(ctx)
		if err != nil || !o.Settings.Write || !moves(store.Snapshot().Chain) {
			break
		}
	}
	return store.Snapshot(), err
}

func moves(c status.Chain) bool {
	return slices.ContainsFunc(c.Stages, func(s status.Stage) bool { return s.Next.State == promote.Promotes })
}

// inbox reads what clusters have reported to the last process.
func inbox(o Options) *observe.Inbox {
	reports, err := observe.NewInbox(filepath.Join(o.Settings.DataDir, "reports"))
	if err != nil {
		Logger(o.Settings.Log, o.Log).Warn("some of what clusters have reported is lost; it is waited for", "error", err)
	}
	return reports
}

func newLoop(ctx context.Context, o Options, store *status.Store, m *metrics.Metrics, reports *observe.Inbox) (*loop.Loop, error) {
	if err := checkGit(ctx, o.Settings); err != nil {
		return nil, err
	}
	return loop.New(ctx, loop.Options{Settings: o.Settings, Store: store, Metrics: m, Logger: Logger(o.Settings.Log, o.Log), Inbox: reports})
}

// Serve runs cycles and answers questions until ctx ends, which is no error.
func Serve(ctx context.Context, o Options) error {
	store, m := &status.Store{}, metrics.New(o.Version)
	reports := inbox(o)
	loop, err := newLoop(ctx, o, store, m, reports)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer loop.Close()
	var listener net.Listener
	if o.Settings.Listen != "" {
		if listener, err = net.Listen("tcp", o.Settings.Listen); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		loop.Logger.Info("listening", "address", listener.Addr().String())
	}
	if !o.Settings.Write {
		loop.Logger.Warn("writing is off: nothing is pushed or proposed until the settings say write: true")
	}
	hooks := webhook.New(webhook.Options{
		Secrets: o.Settings.WebhookSecrets, Known: loop.Knows, Now: time.Now, Observe: m.Webhook,
		Wake: func(e webhook.Event) {
			if e.Kind != webhook.Report {
				loop.Wake(e.Repo)
			}
		},
		Report: func(e observe.Event) {
			if err := reports.Add(e); err != nil {
				loop.Logger.Warn("what a cluster has reported could not be written down", "cluster", e.Cluster, "error", err)
			}
			loop.Tell()
		},
	})
	window := web.CheckHost(o.Settings.Hosts, web.New(web.Options{Store: store, Metrics: m, Version: o.Version, Logger: loop.Logger, OverdueAfter: o.Settings.OverdueAfter, Wake: func() { loop.Wake("") }, Webhooks: hooks}))
	return together(ctx, loop, o, listener, window)
}

// together runs the loop, and the window if there is a listener, until ctx ends or
// the window breaks, and waits for both.
func together(ctx context.Context, loop *loop.Loop, o Options, listener net.Listener, window http.Handler) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	var broken error
	if listener != nil {
		wait.Go(func() {
			broken = web.Serve(ctx, listener, window)
			stop()
		})
		if o.Ready != nil {
			o.Ready(listener.Addr().String())
		}
	}
	loop.Run(ctx, func() {
		if o.After != nil && ctx.Err() == nil {
			o.After(loop.Store.Snapshot())
		}
	})
	stop()
	wait.Wait()
	return broken
}

// checkGit sees that Git is there where it is needed.
func checkGit(ctx context.Context, s *config.Settings) error {
	if !access.HasLocalRepository(s) {
		return nil
	}
	if _, err := program.Version(ctx); err != nil {
		return fmt.Errorf("repositories on this machine are reached with Git: %w", err)
	}
	return nil
}

// Package fluxsim simulates clusters that run Flux, for "fairlead demo".
//
// What the package keeps true: a cluster knows only what a real one knows: its output branch and
// folder, its name, its key and the daemon's address. It reports events of Flux's
// kustomize-controller like a generic-hmac Provider, in order and with retries. A revision is ready
// only after its objects were read. No containers run: only a GitRepository that cannot be fetched
// fails.
package fluxsim

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
)

// Cluster is a simulated cluster.
type Cluster struct {
	Name        string
	Environment string
	Folder      string
}

// Event is an event that the daemon accepted.
type Event struct {
	Cluster
	Commit  string
	Phase   Phase
	Message string
}

// Phase is the meaning of an event.
type Phase string

// The phases, in the order of reports.
const (
	Applied  Phase = "applied" // objects changed
	Healthy  Phase = "healthy" // the health check passed
	Failed   Phase = "failed"
	Finished Phase = "finished"
	Canceled Phase = "canceled" // a new revision ended the health check
)

// Options describes a fleet. Only Reported and Logger are optional.
type Options struct {
	Repository string
	Clusters   []Cluster
	// Server is the daemon's URL; Keys are signing keys by cluster.
	Server string
	Keys   map[string]string
	// Interval is the time between pulls, Rollout from a new revision to the end of its health
	// check.
	Interval, Rollout time.Duration
	// Timeout bounds a health check. CancelsChecks is Flux's feature gate
	// CancelHealthCheckOnNewRevision; without it, a new revision waits for the running health
	// check.
	Timeout       time.Duration
	CancelsChecks bool
	Sources       map[string]Source
	Reported      func(Event)
	Logger        *slog.Logger
}

const reconcileInterval = time.Minute

// leastTimeout is kustomize-controller's minimum.
const leastTimeout = 30 * time.Second

// Run pulls, applies and reports until ctx ends.
func Run(ctx context.Context, o Options) {
	if o.Reported == nil {
		o.Reported = func(Event) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	clusters := make([]*cluster, len(o.Clusters))
	for i, c := range o.Clusters {
		clusters[i] = &cluster{Cluster: c, options: o}
	}
	tick := time.NewTicker(o.Interval)
	defer tick.Stop()
	for {
		for _, c := range clusters {
			err := c.runRound(ctx, time.Now())
			if err != nil && ctx.Err() == nil {
				o.Logger.Warn("a simulated cluster has failed; it tries again", "cluster", c.Name, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *cluster) runRound(ctx context.Context, now time.Time) error {
	repo, err := git.Open(c.options.Repository)
	if err != nil {
		return err
	}
	head, err := repo.Branch(c.Environment)
	if errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	if err != nil {
		return err
	}
	read := func() (objects, error) { return readObjects(repo, head, c.Folder) }
	if err := c.reconcile(head, now, read); err != nil {
		return err
	}
	return c.postEvents(ctx)
}

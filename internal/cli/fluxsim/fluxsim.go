// Package fluxsim simulates clusters that run Flux, for "fairlead demo".
//
// What the package keeps true: a cluster knows what a real one knows, which is its branch of the
// GitOps repository, its folder there, its name, its key, and the address of the daemon. What
// it reports are the events of Flux's kustomize-controller, posted as a Provider of type
// generic-hmac posts them; one that did not arrive is posted again before the next. It reports a
// revision as ready only after it has read the objects of that revision. It runs no containers: an
// object fails if it is a GitRepository that cannot be fetched, and is healthy otherwise.
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
	Environment string // the branch of the GitOps repository that it pulls
	Folder      string // the folder there that it applies: its cluster type
}

// Event is an event that the daemon has accepted.
type Event struct {
	Cluster
	Commit  string
	Phase   Phase
	Message string
}

// Phase is what an event means.
type Phase string

// The phases, in the order in which a cluster reports them.
const (
	Applied  Phase = "applied"  // objects were created, changed or deleted
	Healthy  Phase = "healthy"  // the health check has passed
	Failed   Phase = "failed"   // the revision cannot be applied, or the health check has failed
	Finished Phase = "finished" // the reconciliation is over, and the next one is planned
	Canceled Phase = "canceled" // the health check has ended without a result, since there is another revision
)

// Options describes a fleet. All fields are needed but Reported and Logger.
type Options struct {
	// Repository is the path of the GitOps repository.
	Repository string
	Clusters   []Cluster
	// Server is the URL of the daemon, and Keys are what each cluster signs its events with, by name.
	Server string
	Keys   map[string]string
	// Interval is the time between two pulls, Rollout the time from a new revision to the end
	// of its health check.
	Interval, Rollout time.Duration
	// Timeout is how long a health check may take. CancelsChecks is Flux's feature gate CancelHealthCheckOnNewRevision:
	// without it, a new revision waits until the health check of the one before has ended.
	Timeout       time.Duration
	CancelsChecks bool
	// Sources are the repositories that a cluster can fetch, by URL.
	Sources map[string]Source
	// Reported is called for each event that the daemon has accepted.
	Reported func(Event)
	Logger   *slog.Logger
}

// reconcileInterval is the time from one reconciliation of the same revision to the next.
const reconcileInterval = time.Minute

// leastTimeout is what kustomize-controller makes of a shorter timeout.
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

// runRound pulls the branch, reconciles what it holds, and posts the events.
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

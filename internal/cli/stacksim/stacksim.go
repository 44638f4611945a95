// Package stacksim simulates a cluster with the stacks of an environment, for "fairlead demo
// --stack": Flux's kustomize-controller and helm-controller, and tofu-controller. It also runs
// deployment targets with ordered objects (reconciler "tofu").
//
// What the package keeps true: the cluster knows only what a real one knows: its output branch, the
// branch of root modules, its name, its key and the daemon's address. Statuses are recorded from
// real controllers, including surprises: a waiting plan is ready, an approval left in an object
// approves a new plan at the same commit, and Kustomizations see a commit before their own update.
// It reports like an agent, and sends plans like a job.
//
// No Terraform or Helm runs: a plan is the difference of two root modules, and an output is a name.
// For modules of other repositories, a plan is the difference of the object and its source.
package stacksim

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
)

// Options describes the cluster. Only Reported and Logger are optional.
type Options struct {
	// Repository is the path of the GitOps repository, Environment its branch.
	Repository, Environment string
	// Cluster is the name, Server the daemon's URL, Key the signing key.
	Cluster, Server, Key string
	// Folder has Terraform objects and plans as kubectl prints them. "<object>.drift" in it
	// describes a manual change; "<object>.fails" names a failing step: init, plan or apply.
	Folder string
	// Interval is the time between rounds, Pace the duration of a plan or installation.
	Interval, Pace time.Duration
	// Patience bounds the intervals of controllers; 0 is unlimited.
	Patience time.Duration
	// Workers is the number of concurrent Kustomizations (0 for Flux's default). CancelsChecks is
	// Flux's feature gate CancelHealthCheckOnNewRevision.
	Workers       int
	CancelsChecks bool
	// Cost returns what Infracost prints for the variables of a component before and after a plan; nil for no
	// costs.
	Cost func(before, after map[string]string) any
	// Reported is called for events that the daemon knows.
	Reported func(Event)
	Logger   *slog.Logger
}

// Event is an event of a component.
type Event struct {
	Component string // "team/stack/component"
	Message   string
	// NeedsPerson means that the component waits for a person.
	NeedsPerson bool
}

// Run pulls, applies and reports until ctx ends.
func Run(ctx context.Context, o Options) {
	if o.Reported == nil {
		o.Reported = func(Event) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := newCluster(o)
	tick := time.NewTicker(o.Interval)
	defer tick.Stop()
	for {
		if err := c.runRound(ctx, time.Now()); err != nil && ctx.Err() == nil {
			o.Logger.Warn("the simulated cluster has failed; it tries again", "cluster", o.Cluster, "error", err)
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
	head, err := repo.Branch(c.options.Environment)
	if errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	if err != nil {
		return err
	}
	view, err := repo.View(head)
	if err != nil {
		return err
	}
	err = c.reconcile(head, view.Tree, now, func(commit, folder string) (module, error) { return readModule(repo, commit, folder) })
	if failed := view.Err(); failed != nil {
		err = failed
	}
	if err != nil {
		return err
	}
	if err := c.writeFolder(); err != nil {
		return err
	}
	return c.report(ctx, now)
}

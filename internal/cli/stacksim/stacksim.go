// Package stacksim simulates a cluster that runs the stacks of an environment, for
// "fairlead demo --stack": Flux's kustomize-controller and helm-controller, and tofu-controller. It also
// runs the deployment targets of all cluster types whose objects have an order, as those of the reconciler
// "tofu".
//
// What the package keeps true: the cluster knows what a real one knows, which is its branch of the
// GitOps repository, the branch of root modules, its name, its key, and the address of the daemon. What the
// objects say, one after the other, is what those of the real controllers were recorded to say, also where that
// surprises: a plan that waits is ready, an approval that is left in an object approves what is planned at the same
// commit, and Kustomizations take up a commit before their own objects do. What an agent on the cluster
// would read of the objects is reported as an agent does, signed, and the plans that wait are sent as a job on the
// cluster does. No Terraform and no Helm runs: a plan is what differs between two root modules, and an output is a
// name. Modules of other repositories are not read: of these, a plan is what differs in the object and in its source.
package stacksim

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
)

// Options describes the cluster. All fields are needed but Reported and Logger.
type Options struct {
	// Repository is the path of the GitOps repository, and Environment the branch that the cluster pulls.
	Repository, Environment string
	// Cluster is its name, Server the URL of the daemon, and Key what it signs its reports with.
	Cluster, Server, Key string
	// Folder is where it shows what kubectl would print: its Terraform objects, and their plans. A file
	// "<object>.drift" there says what somebody has changed of what the object has made, and "<object>.fails" which step
	// of it fails: init, plan or apply.
	Folder string
	// Interval is the time between two rounds, Pace how long a plan, an installation and the like take.
	Interval, Pace time.Duration
	// Patience bounds the intervals at which controllers look again at what has not changed; 0 is without a bound.
	Patience time.Duration
	// Workers is how many Kustomizations are handled at the same time, 0 for Flux's default. CancelsChecks is Flux's feature
	// gate CancelHealthCheckOnNewRevision.
	Workers       int
	CancelsChecks bool
	// Reported is called for what has happened to a component, once the daemon knows it.
	Reported func(Event)
	Logger   *slog.Logger
}

// Event is what has happened to a component.
type Event struct {
	Component string // "team/stack/component"
	Message   string
	// NeedsPerson is set if nothing goes on without a person.
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

// runRound pulls the branch, has the controllers do what is due, and reports.
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

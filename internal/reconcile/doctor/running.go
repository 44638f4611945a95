package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

const maxAsked = 20

// ExamineRunning checks the settings, credentials and repository access of a running daemon. It
// neither fetches nor pushes, because the daemon reports that itself. The error is that of ctx.
func ExamineRunning(ctx context.Context, o Options, known status.Snapshot) ([]Finding, error) {
	d := newExamination(o)
	d.runs = true
	d.checkMachine(ctx)
	d.checkSettings()
	checkSchedulers(d)
	d.checkMirrors(len(known.Remotes))
	d.checkHealthChecks(o.HeldUp)
	d.repositoryAt(access.ReadLocation(d.config, d.config.ControlPlane.Repo)).controlPlane = true
	for _, e := range known.Environments {
		if e.Output.Repo != "" {
			r := d.repositoryAt(access.ReadLocation(d.config, e.Output.Repo))
			r.outputs = append(r.outputs, output{e.Name, e.Output.Branch})
		}
	}
	all := d.sortedRepositories()
	if len(all) > maxAsked {
		d.addOK("repositories", "%d of %d are asked about; fairlead doctor asks about all", maxAsked, len(all))
		all = all[:maxAsked]
	}
	for _, r := range all {
		d.checkForge(r)
	}
	d.dropScarce()
	d.checkForges(ctx, all, func(r *repository) { r.api.kind.checkAccess(ctx, d, r) })
	return d.sortedFindings(), ctx.Err()
}

func (d *examination) checkMirrors(count int) {
	const what = "mirrors"
	bytes := int64(0)
	err := filepath.WalkDir(filepath.Join(d.config.DataDir, "git"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return ignoreMissing(err)
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return ignoreMissing(err)
	})
	if err != nil {
		d.addWarning(what, "let the user who runs fairlead read dataDir of the settings", "%v", err)
		return
	}
	d.addOK(what, "the copies of %s take %d MiB on the disk", countRepositories(count), (bytes+1<<20-1)>>20)
}

// heldUpFor is how long to warn after a held-up commit.
const heldUpFor = 7 * 24 * time.Hour

// checkHealthChecks warns where fixes, rollbacks and approvals wait for the health check of an
// older commit.
func (d *examination) checkHealthChecks(clusters []HeldUp) {
	var names []string
	last := HeldUp{}
	for _, c := range clusters {
		if d.now().Sub(c.Seen) > heldUpFor {
			continue
		}
		names = append(names, c.Cluster)
		if c.Seen.After(last.Seen) {
			last = c
		}
	}
	if len(names) == 0 {
		return
	}
	shown := text.Join(names, " and ")
	if len(names) > maxNamedClusters {
		shown = text.Count(len(names), "cluster")
	}
	d.addWarning("health checks", "start kustomize-controller there with --feature-gates=CancelHealthCheckOnNewRevision=true (Flux 2.7 or newer)",
		"a newer commit waited until the health check of an older one ended on %s: last %s on %s", shown, last.Object, last.Cluster)
}

const maxNamedClusters = 3

func countRepositories(n int) string {
	if n == 1 {
		return "1 repository"
	}
	return fmt.Sprintf("%d repositories", n)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// scarce is the divisor of a rate limit below which the daemon needs the rest: a fifth.
const scarce = 5

// dropScarce skips credentials with a scarce rate limit or a current refusal.
func (d *examination) dropScarce() {
	for url, a := range d.forges {
		told, now := a.limits.Report(), d.now()
		isScarce := now.Before(told.RetryAt)
		for _, l := range told.Limits {
			isScarce = isScarce || l.Remaining < l.Limit/scarce && now.Before(l.Resets)
		}
		if isScarce {
			d.addOK(a.credentialName()+": API", "it is not asked now: what is left of its rate limit is for the work of the daemon")
			delete(d.forges, url)
		}
	}
}

package fluxsim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

type cluster struct {
	Cluster
	options Options

	applied  objects
	revision string
	began    time.Time
	missing  bool // the revision lacks the folder
	checking bool
	due      time.Time // end of the health check, or next reconciliation
	drifted  bool      // objects changed since the last health check
	healthy  bool
	waits    func() bool // whether an object is in progress; nil for never
	unsent   []report
	// workloads are the applied Kustomizations that were reported as ready, by name.
	workloads map[string]tree.ID
}

type report struct {
	Event
	reason string
	when   time.Time
	// object and revision are those of a workload; "" for what applies the output.
	object, revision string
}

// reconcile applies a new revision, ends a health check, or repeats a revision. A health check ends
// before a new revision is applied, unless Flux has the feature gate.
func (c *cluster) reconcile(head string, now time.Time, read func() (objects, error)) error {
	isNew := head != c.revision
	switch {
	case c.checking && isNew && c.options.CancelsChecks:
		c.checking = false
		c.addReport(Canceled, "HealthCheckCanceled", "Health checks canceled due to new reconciliation triggered by GitRepository/flux-system/fleet", now)
	case c.checking && (now.Before(c.due) || c.isWaiting() && now.Before(c.began.Add(c.timeout()))):
		return nil
	case c.checking:
		c.endHealthCheck(now)
	case isNew || now.Before(c.due):
	case c.missing:
		c.applyObjects(nil, now)
	default:
		c.began = now
		c.endHealthCheck(now)
	}
	if !isNew {
		return nil
	}
	wanted, err := read()
	if err != nil || wanted == nil && c.applied == nil {
		return err
	}
	c.revision, c.began, c.checking = head, now, false
	c.applyObjects(wanted, now)
	return nil
}

func (c *cluster) timeout() time.Duration { return max(c.options.Timeout, leastTimeout) }

func (c *cluster) isWaiting() bool { return c.waits != nil && c.waits() }

func (c *cluster) applyObjects(wanted objects, now time.Time) {
	c.missing = wanted == nil
	if c.missing {
		c.due = now.Add(reconcileInterval)
		c.addReport(Failed, "ArtifactFailed", "kustomization path not found: stat /tmp/kustomization/"+c.Folder+": no such file or directory", now)
		return
	}
	changes := describeChanges(c.applied, wanted)
	if len(changes) > 0 {
		c.addReport(Applied, "Progressing", strings.Join(changes, "\n"), now)
	}
	c.drifted = slices.ContainsFunc(changes, func(line string) bool { return !strings.HasSuffix(line, " deleted") })
	c.applied, c.checking, c.due = wanted, true, now.Add(c.options.Rollout)
}

func describeChanges(before, after objects) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		old, known := before[name]
		switch {
		case !known:
			lines = append(lines, name+" created")
		case old.digest != after[name].digest:
			lines = append(lines, name+" configured")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, kept := after[name]; !kept {
			lines = append(lines, name+" deleted")
		}
	}
	return lines
}

// endHealthCheck reports the result. An unchanged success is no separate event.
func (c *cluster) endHealthCheck(now time.Time) {
	c.reportWorkloads(now)
	isNews := c.drifted || !c.healthy
	c.drifted, c.healthy, c.checking, c.due = false, false, false, now.Add(reconcileInterval)
	took := now.Sub(c.began).Round(time.Millisecond)
	if bad := c.applied.findUnhealthy(c.options.Sources); len(bad) > 0 {
		c.addReport(Failed, "HealthCheckFailed", fmt.Sprintf("health check failed after %s: failed early due to stalled resources: [%s]", took, strings.Join(bad, ", ")), now)
		return
	}
	if c.isWaiting() {
		c.addReport(Failed, "HealthCheckFailed", fmt.Sprintf("health check failed after %s: timeout waiting for: [%s]", took, strings.Join(slices.Sorted(maps.Keys(c.applied)), ", ")), now)
		return
	}
	c.healthy = true
	if isNews {
		c.addReport(Healthy, "Progressing", fmt.Sprintf("Health check passed in %s", took), now)
	}
	c.addReport(Finished, "ReconciliationSucceeded", fmt.Sprintf("Reconciliation finished in %s, next run in %s", took, reconcileInterval), now)
}

// reportWorkloads reports the Kustomizations of workloads that are new or changed and whose source can be fetched, as an Alert does
// that names all Kustomizations.
func (c *cluster) reportWorkloads(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(c.applied)) {
		o := c.applied[name]
		from, fetched := c.applied[o.from]
		if o.from == "" || c.workloads[name] == o.digest || !fetched || c.options.Sources[from.source].findFailure(from.ref) != "" {
			continue
		}
		if c.workloads == nil {
			c.workloads = map[string]tree.ID{}
		}
		c.workloads[name] = o.digest
		revision := fmt.Sprintf("%s@sha1:%s", from.ref.branch, o.digest)
		e := Event{c.Cluster, c.revision, Finished, "Applied revision: " + revision}
		c.unsent = append(c.unsent, report{e, "ReconciliationSucceeded", now, path.Base(name), revision})
	}
}

func (c *cluster) addReport(phase Phase, reason, message string, now time.Time) {
	c.unsent = append(c.unsent, report{Event: Event{c.Cluster, c.revision, phase, message}, reason: reason, when: now})
}

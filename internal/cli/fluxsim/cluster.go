package fluxsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// cluster is the state of a simulated cluster.
type cluster struct {
	Cluster
	options Options

	applied  objects // nil before the folder was there for the first time
	revision string  // the commit that was applied last
	began    time.Time
	missing  bool        // the folder is not in the revision
	checking bool        // the health check runs
	due      time.Time   // when the health check ends, or the next reconciliation begins
	drifted  bool        // objects were created or changed since the last health check
	healthy  bool        // the last health check has passed
	waits    func() bool // whether an object is in progress; nil if none ever is, as in the demo
	unsent   []report
}

// report is an event that is still to be posted.
type report struct {
	Event
	reason string
	when   time.Time
}

// reconcile does what is due at a time: it applies a new revision, ends a health check, or reconciles the same revision
// again. A health check is ended before a new revision is applied, unless Flux has the feature gate. read returns the
// objects of head.
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
	if err != nil || wanted == nil && c.applied == nil { // or it is not a cluster of the fleet yet
		return err
	}
	c.revision, c.began, c.checking = head, now, false
	c.applyObjects(wanted, now)
	return nil
}

// timeout returns how long a health check may take.
func (c *cluster) timeout() time.Duration { return max(c.options.Timeout, leastTimeout) }

func (c *cluster) isWaiting() bool { return c.waits != nil && c.waits() }

// applyObjects makes the cluster hold the wanted objects; nil means that the folder is missing.
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

// describeChanges returns a line for each object that differs, as Flux writes them.
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

// endHealthCheck reports whether the objects are healthy. That they still are is no event of its own.
func (c *cluster) endHealthCheck(now time.Time) {
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

func (c *cluster) addReport(phase Phase, reason, message string, now time.Time) {
	c.unsent = append(c.unsent, report{Event{c.Cluster, c.revision, phase, message}, reason, now})
}

package stacksim

import (
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const objectsFolder = "environments"

// The defaults of kustomize-controller.
const (
	defaultWorkers = 4
	defaultRequeue = 30 * time.Second
	minTimeout     = 30 * time.Second
	pollHealth     = "5s"
)

// kustomization is a Flux Kustomization. Its status was recorded from kustomize-controller 1.9.4.
type kustomization struct {
	*object
	isDeleted bool

	ready              condition
	retries            bool
	observed           int
	applied, attempted string
	owned              map[objectKey]*object

	isChecking bool // holds a worker until its objects are healthy, or until
	until      time.Time
	look       time.Time
	next       time.Time
	begun      *object
	commit     string
	requested  string
}

func (c *cluster) applyKustomization(o *object) {
	if c.kustomizations[o.objectKey] == nil {
		c.kustomizations[o.objectKey] = &kustomization{owned: map[objectKey]*object{}}
	}
	k := c.kustomizations[o.objectKey]
	k.object, k.isDeleted = o.after(k.object), false
}

func (c *cluster) addRoots() {
	for _, clusterType := range c.output.Entries() {
		if !clusterType.IsDir() || clusterType.Name == objectsFolder || strings.HasPrefix(clusterType.Name, ".") || c.kustomizations[objectKey{"Kustomization", rootNamespace, clusterType.Name}] != nil {
			continue
		}
		wanted, err := readRoot(clusterType.Tree(), clusterType.Name)
		if err != nil || len(wanted) > 0 { // reports that it cannot be built
			c.applyKustomization(c.newRoot(clusterType.Name, clusterType.Name))
		}
	}
}

func readRoot(folder tree.Tree, name string) (map[objectKey]*object, error) {
	if name == objectsFolder {
		return readObjects(folder, func(file string) bool { return path.Base(file) == "flux-kustomization.yaml" })
	}
	wanted := map[objectKey]*object{}
	for _, target := range folder.Entries() {
		if target.Tree().Sub("objects").IsEmpty() {
			continue
		}
		found, err := readObjects(target.Tree(), func(file string) bool { return file == "reconciler.yaml" })
		if err != nil {
			return nil, err
		}
		maps.Copy(wanted, found)
	}
	return wanted, nil
}

func (c *cluster) runKustomization(k *kustomization, now time.Time) error {
	if k.isChecking {
		if err := c.checkHealth(k, now); err != nil || k.isChecking {
			return err
		}
	}
	isNew := k.begun == nil || k.begun.generation != k.generation || k.requested != k.notes[requestedAt] || k.isDeleted
	if !isNew && k.commit == c.head && now.Before(k.next) || c.countWorkers() >= c.workers() {
		return nil
	}
	k.begun, k.commit, k.requested = k.object, c.head, k.notes[requestedAt]
	switch {
	case k.isDeleted:
		for _, o := range k.owned {
			c.prune(o)
		}
		delete(c.kustomizations, k.objectKey)
		c.wrote(k.object)
		return nil
	case k.spec.Suspend:
		k.observed = k.generation
		c.wrote(k.object)
		return nil
	case c.head == "":
		return nil
	}
	k.next = now.Add(c.every(k.spec.RetryInterval, k.spec.Interval))
	if waits := c.findUnready(k); waits != "" {
		k.next = now.Add(c.every(c.requeue.String()))
		k.set(c, now, "False", "DependencyNotReady", fmt.Sprintf("dependency '%s/%s' is not ready", k.namespace, waits))
		return nil
	}
	return c.applyObjects(k, now)
}

func (c *cluster) workers() int {
	if c.options.Workers > 0 {
		return c.options.Workers
	}
	return defaultWorkers
}

func (c *cluster) countWorkers() int {
	held := 0
	for _, k := range c.kustomizations {
		if k.isChecking {
			held++
		}
	}
	return held
}

func (k *kustomization) set(c *cluster, now time.Time, status, reason, message string) {
	k.ready.set(now, status, reason, message)
	c.wrote(k.object)
}

func (k *kustomization) fail(c *cluster, now time.Time, reason, message string) {
	k.retries = true
	k.set(c, now, "False", reason, message)
}

func (c *cluster) findUnready(k *kustomization) string {
	for _, d := range k.spec.DependsOn {
		before := c.kustomizations[objectKey{"Kustomization", k.namespace, d.Name}]
		if before == nil || before.observed != before.generation || before.ready.status != "True" || before.applied != c.head {
			return d.Name
		}
	}
	return ""
}

func (c *cluster) applyObjects(k *kustomization, now time.Time) error {
	k.set(c, now, "Unknown", "Progressing", "Reconciliation in progress")
	folder := c.output.Sub(k.folder())
	if folder.IsEmpty() && k.folder() != objectsFolder {
		k.fail(c, now, "ArtifactFailed", fmt.Sprintf("kustomization path not found: stat /tmp/kustomization-1/%s: no such file or directory", k.folder()))
		return nil
	}
	k.attempted = c.head
	c.wrote(k.object)
	for _, name := range k.spec.Components {
		if c.output.Sub(path.Join(k.folder(), name)).IsEmpty() {
			k.fail(c, now, "BuildFailed", "kustomize build failed: there is no "+name)
			return nil
		}
	}
	wanted, err := k.read(folder)
	if err != nil {
		k.fail(c, now, "BuildFailed", "kustomize build failed: "+err.Error())
		return nil
	}
	for _, o := range sortValues(wanted) {
		c.apply(o)
	}
	for _, o := range sortValues(k.owned) {
		if wanted[o.objectKey] == nil {
			c.prune(o)
		}
	}
	k.owned = wanted
	k.set(c, now, "Unknown", "Progressing", "Running health checks for revision "+c.revision(c.head))
	if k.spec.Wait && len(wanted) > 0 {
		k.isChecking, k.look, k.until = true, now, now.Add(max(minTimeout, k.timeout()))
		return c.checkHealth(k, now)
	}
	k.succeed(c, now)
	return nil
}

func (k *kustomization) folder() string { return strings.Trim(path.Clean("/"+k.spec.Path), "/") }

func (k *kustomization) isRoot() bool { return !strings.Contains(k.folder(), "/") }

func (k *kustomization) timeout() time.Duration {
	for _, text := range []string{k.spec.Timeout, k.spec.Interval} {
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	}
	return time.Minute
}

func (k *kustomization) read(folder tree.Tree) (map[objectKey]*object, error) {
	if k.isRoot() {
		return readRoot(folder, k.folder())
	}
	return readObjects(folder, func(string) bool { return true })
}

func (k *kustomization) succeed(c *cluster, now time.Time) {
	k.isChecking, k.retries = false, false
	k.next = now.Add(c.every(k.spec.Interval, ""))
	k.applied, k.observed = k.commit, k.begun.generation
	k.set(c, now, "True", "ReconciliationSucceeded", "Applied revision: "+c.revision(k.commit))
}

// checkHealth ends a health check when all objects are healthy, one has failed, or its time is
// over. With the feature gate CancelHealthCheckOnNewRevision, a new commit ends it too.
func (c *cluster) checkHealth(k *kustomization, now time.Time) error {
	if c.options.CancelsChecks && k.commit != c.head {
		k.isChecking = false
		k.fail(c, now, "HealthCheckCanceled", "New reconciliation triggered by GitRepository/"+rootNamespace+"/"+rootSource)
		return nil
	}
	if now.Before(k.look) && now.Before(k.until) {
		return nil
	}
	k.look = now.Add(c.every(pollHealth))
	var failures, waits []string
	for _, o := range sortValues(k.owned) {
		health, err := c.healthOf(k, o)
		switch {
		case err != nil:
			return err
		case health == failed:
			failures = append(failures, fmt.Sprintf("%s status: 'Failed'", o))
		case health == inProgress:
			waits = append(waits, fmt.Sprintf("%s status: 'InProgress'", o))
		}
	}
	why := ""
	switch {
	case len(failures) > 0:
		why = "failed early due to stalled resources: [" + strings.Join(failures, ", ") + "]"
	case len(waits) == 0:
		k.succeed(c, now)
		return nil
	case now.Before(k.until):
		return nil
	default:
		why = "timeout waiting for: [" + strings.Join(waits, ", ") + "]"
	}
	k.isChecking, k.next = false, now.Add(c.every(k.begun.spec.RetryInterval, k.begun.spec.Interval))
	k.fail(c, now, "HealthCheckFailed", "health check failed: "+why)
	return nil
}

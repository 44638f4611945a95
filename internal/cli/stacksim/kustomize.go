package stacksim

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// objectsFolder is the folder of the output that the cluster applies.
const objectsFolder = "environments"

// condition is the condition Ready of an object.
type condition struct {
	status, reason, message string
	since                   time.Time
}

func (c *condition) set(now time.Time, status, reason, message string) {
	if c.status != status || c.reason != reason || c.message != message {
		*c = condition{status, reason, message, now}
	}
}

// kustomization is a Flux Kustomization of a component, and what it has applied.
type kustomization struct {
	*object
	ready     condition
	applied   string // the revision that was ready last
	attempted string // the revision that was applied last
	owned     map[objectKey]*object
}

// cluster is the state of the simulated cluster.
type cluster struct {
	options Options

	head           string
	types          []string  // the cluster types whose targets it runs, sorted
	root           condition // of the Kustomization that applies the others
	kustomizations map[objectKey]*kustomization
	terraforms     map[objectKey]*terraform
	sources        map[objectKey]*object
	releases       map[objectKey]*release
	secrets        map[objectKey]map[string]string
	reporter       reporter
	events         []Event       // that the daemon does not know yet
	watch          func(*object) // sees each change of a status; nil for nobody
	written        map[string]string
}

func newCluster(o Options) *cluster {
	return &cluster{
		options: o, kustomizations: map[objectKey]*kustomization{}, terraforms: map[objectKey]*terraform{}, sources: map[objectKey]*object{}, releases: map[objectKey]*release{},
		secrets: map[objectKey]map[string]string{}, reporter: newReporter(), written: map[string]string{},
	}
}

// wrote tells that the status of an object was written.
func (c *cluster) wrote(o *object) {
	if c.watch != nil {
		c.watch(o)
	}
}

// every returns an interval of an object, the first that it names, as far as the cluster has that patience.
func (c *cluster) every(names ...string) time.Duration {
	every := 10 * time.Minute
	for _, name := range names {
		if named, err := time.ParseDuration(name); err == nil {
			every = named
			break
		}
	}
	if c.options.Patience > 0 {
		every = min(every, c.options.Patience)
	}
	return every
}

// readsModule returns the root module in a folder of a commit.
type readsModule func(commit, folder string) (module, error)

// reconcile has all controllers do what is due at a time.
func (c *cluster) reconcile(head string, output tree.Tree, now time.Time, read readsModule) error {
	if head != c.head {
		c.head = head
		if err := c.applyKustomizations(output, now); err != nil { // all at once: these are those of before
			return err
		}
		if err := c.applyRoot(output); err != nil {
			return err
		}
		c.root.set(now, "True", "ReconciliationSucceeded", "Applied revision: "+c.revision())
	}
	if err := c.applyKustomizations(output, now); err != nil {
		return err
	}
	for _, t := range sortValues(c.terraforms) {
		if err := c.runTerraform(t, now, read); err != nil {
			return err
		}
	}
	for _, r := range sortValues(c.releases) {
		c.runRelease(r, now)
	}
	for _, k := range sortValues(c.kustomizations) {
		c.checkHealth(k, now)
	}
	return nil
}

// applyKustomizations applies the objects of all components that do not wait for others.
func (c *cluster) applyKustomizations(output tree.Tree, now time.Time) error {
	for _, k := range sortValues(c.kustomizations) {
		if err := c.applyKustomization(k, output, now); err != nil {
			return err
		}
	}
	return nil
}

// sortValues returns the values of a map, in the order of their keys.
func sortValues[V any](all map[objectKey]V) []V {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b objectKey) int { return strings.Compare(a.String(), b.String()) })
	values := make([]V, len(keys))
	for i, key := range keys {
		values[i] = all[key]
	}
	return values
}

// revision returns the head of the branch as Flux names it.
func (c *cluster) revision() string { return c.options.Environment + "@sha1:" + c.head }

// addEvent notes what has happened to a component.
func (c *cluster) addEvent(of *object, needsPerson bool, message string) {
	c.events = append(c.events, Event{of.component(), message, needsPerson})
}

// applyRoot applies the Kustomizations of the components, and prunes those that are gone.
func (c *cluster) applyRoot(output tree.Tree) error {
	wanted, err := readObjects(output.Sub(objectsFolder), func(file string) bool { return path.Base(file) == "flux-kustomization.yaml" })
	if err != nil {
		return err
	}
	if err := c.addTargets(output, wanted); err != nil {
		return err
	}
	for key, o := range wanted {
		known := c.kustomizations[key]
		if known == nil {
			known = &kustomization{owned: map[objectKey]*object{}}
			c.kustomizations[key] = known
		}
		before := known.object
		known.object = o.after(before)
		if before != nil && before.digest != o.digest { // it is reconciled again
			known.attempted, known.applied = "", ""
		}
	}
	for key, k := range c.kustomizations {
		if wanted[key] == nil {
			delete(c.kustomizations, key)
			for _, o := range k.owned {
				c.prune(o)
			}
		}
	}
	return nil
}

// addTargets adds the Kustomizations of deployment targets, which are in the folders of cluster types.
func (c *cluster) addTargets(output tree.Tree, wanted map[objectKey]*object) error {
	c.types = nil
	for _, clusterType := range output.Entries() {
		if !clusterType.IsDir() || clusterType.Name == objectsFolder || strings.HasPrefix(clusterType.Name, ".") {
			continue
		}
		before := len(wanted)
		for _, target := range clusterType.Tree().Entries() {
			if target.Tree().Sub("objects").IsEmpty() {
				continue
			}
			found, err := readObjects(target.Tree(), func(file string) bool { return file == "reconciler.yaml" })
			if err != nil {
				return err
			}
			maps.Copy(wanted, found)
		}
		if len(wanted) > before {
			c.types = append(c.types, clusterType.Name)
		}
	}
	return nil
}

// after returns an object with the generation that follows that of the one before; nil for none.
func (o *object) after(before *object) *object {
	if before != nil {
		o.generation = before.generation
		if before.digest != o.digest {
			o.generation++
		}
	}
	return o
}

// applyKustomization applies the objects of a component, unless it has applied this revision, or waits
// for another component.
func (c *cluster) applyKustomization(k *kustomization, output tree.Tree, now time.Time) error {
	if k.attempted == c.head {
		return nil
	}
	for _, d := range k.spec.DependsOn {
		before := c.kustomizations[objectKey{"Kustomization", k.namespace, d.Name}]
		if before == nil || before.applied != c.head {
			k.ready.set(now, "False", "DependencyNotReady", fmt.Sprintf("dependency '%s/%s' is not ready", k.namespace, d.Name))
			return nil
		}
	}
	for _, name := range k.spec.Components {
		if output.Sub(path.Join(strings.Trim(path.Clean("/"+k.spec.Path), "/"), name)).IsEmpty() {
			k.ready.set(now, "False", "BuildFailed", "kustomize build failed: there is no "+name)
			return nil
		}
	}
	wanted, err := readObjects(output.Sub(strings.Trim(path.Clean("/"+k.spec.Path), "/")), func(string) bool { return true })
	if err != nil {
		return err
	}
	for key, o := range wanted {
		o.after(k.owned[key])
		c.apply(o)
	}
	for key, o := range k.owned {
		if wanted[key] == nil {
			c.prune(o)
		}
	}
	k.owned, k.attempted = wanted, c.head
	k.ready.set(now, "Unknown", "Progressing", "Running health checks for revision "+c.revision())
	return nil
}

// apply brings an object to its controller.
func (c *cluster) apply(o *object) {
	switch o.kind {
	case "Terraform":
		if c.terraforms[o.objectKey] == nil {
			c.terraforms[o.objectKey] = &terraform{}
		}
		c.terraforms[o.objectKey].object = o
	case "GitRepository":
		c.sources[o.objectKey] = o
	case "HelmRelease":
		if c.releases[o.objectKey] == nil {
			c.releases[o.objectKey] = &release{}
		}
		c.releases[o.objectKey].object = o
	}
}

// prune removes an object, unless it is protected. What a Terraform object has made stays, and the object goes
// as [cluster.finalize] says.
func (c *cluster) prune(o *object) {
	if o.notes["kustomize.toolkit.fluxcd.io/prune"] == "disabled" {
		return
	}
	delete(c.sources, o.objectKey)
	if t := c.terraforms[o.objectKey]; t != nil {
		t.isDeleted = true
	}
	if r := c.releases[o.objectKey]; r != nil {
		r.isDeleted = true
	}
}

// checkHealth sets whether a component is ready, by its objects.
func (c *cluster) checkHealth(k *kustomization, now time.Time) {
	if k.attempted != c.head || k.applied == c.head {
		return
	}
	for _, o := range sortValues(k.owned) {
		switch c.healthOf(o) {
		case failed:
			k.ready.set(now, "False", "HealthCheckFailed", fmt.Sprintf("health check failed: failed early due to stalled resources: [%s status: 'Failed']", o))
			return
		case inProgress:
			k.ready.set(now, "Unknown", "Progressing", "Running health checks for revision "+c.revision())
			return
		}
	}
	k.applied = c.head
	k.ready.set(now, "True", "ReconciliationSucceeded", "Applied revision: "+c.revision())
}

// health is whether an object is as it should be.
type health int

const (
	healthy health = iota
	inProgress
	failed
)

// healthOf returns the health of an object, as the expressions of its Kustomization and Flux have it.
func (c *cluster) healthOf(o *object) health {
	switch o.kind {
	case "Terraform":
		t := c.terraforms[o.objectKey]
		switch {
		case t == nil || t.observed != o.generation:
			return inProgress
		case t.pending != "" && !t.approves(t.pending):
			return failed
		case t.ready.status == "True" && t.pending == "" && t.attempted == c.commitOf(o):
			return healthy
		}
		return inProgress
	case "HelmRelease":
		r := c.releases[o.objectKey]
		switch {
		case r == nil || r.installed != o.digest && r.ready.status != "False":
			return inProgress
		case r.ready.status == "False":
			return failed
		}
	case "Job": // it waits until the HelmRelease or the Terraform object of its name is gone
		if c.releases[objectKey{"HelmRelease", o.namespace, o.name}] != nil || c.terraforms[objectKey{"Terraform", o.namespace, o.name}] != nil {
			return inProgress
		}
	}
	return healthy
}

// commitOf returns the commit that the source of an object is at; "" if there is no source.
func (c *cluster) commitOf(o *object) string {
	if source := c.sourceOf(o); source != nil {
		return source.commit()
	}
	return ""
}

// branchOf returns the branch, or the tag, that the source of an object is of.
func (c *cluster) branchOf(o *object) string {
	if source := c.sourceOf(o); source != nil {
		return cmp.Or(source.spec.Ref.Branch, source.spec.Ref.Tag)
	}
	return ""
}

// sourceOf returns the source of an object; nil if there is none.
func (c *cluster) sourceOf(o *object) *object {
	return c.sources[objectKey{"GitRepository", o.namespace, o.spec.SourceRef.Name}]
}

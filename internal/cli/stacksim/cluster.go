package stacksim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/healthcheck"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

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

// cluster is the state of the simulated cluster.
type cluster struct {
	options Options

	head           string    // of the branch of the output, as it was fetched
	output         tree.Tree // at head
	fetched        condition // of the GitRepository of the output
	kustomizations map[objectKey]*kustomization
	terraforms     map[objectKey]*terraform
	sources        map[objectKey]*source
	releases       map[objectKey]*release
	secrets        map[objectKey]map[string]string
	checks         map[kubeobject.HealthExpr]*healthcheck.Check
	requeue        time.Duration // after which a Kustomization looks again at what it depends on
	reporter       reporter
	events         []Event               // that the daemon does not know yet
	watch          func(*object)         // sees each change of a status; nil for nobody
	isBusy         func(*terraform) bool // tofu-controller has no worker for an object that is due; nil for never
	written        map[string]string
}

// source is a GitRepository of a component or of a deployment target.
type source struct {
	*object
	fetched *object // as it was when it was fetched last; nil for never
}

func newCluster(o Options) *cluster {
	c := &cluster{
		options: o, kustomizations: map[objectKey]*kustomization{}, terraforms: map[objectKey]*terraform{}, sources: map[objectKey]*source{}, releases: map[objectKey]*release{},
		secrets: map[objectKey]map[string]string{}, checks: map[kubeobject.HealthExpr]*healthcheck.Check{}, requeue: defaultRequeue, reporter: newReporter(), written: map[string]string{},
	}
	c.applyKustomization(c.newRoot(rootName, objectsFolder))
	return c
}

// readsModule returns the root module in a folder of a commit.
type readsModule func(commit, folder string) (module, error)

// reconcile has all controllers do what is due at a time.
//
// What is apart on a real cluster, and hurts where it is, is apart here: the Kustomizations of components take up a
// new commit before what applies them has brought them what that commit has of them, and a Terraform object is looked
// at before its source is fetched again.
func (c *cluster) reconcile(head string, output tree.Tree, now time.Time, read readsModule) error {
	c.head, c.output = head, output
	c.addRoots()
	for _, isRoot := range []bool{false, true} {
		for _, k := range sortValues(c.kustomizations) {
			if k.isRoot() != isRoot {
				continue
			}
			if err := c.runKustomization(k, now); err != nil {
				return err
			}
		}
	}
	for _, t := range sortValues(c.terraforms) {
		if err := c.runTerraform(t, now, read); err != nil {
			return err
		}
	}
	for _, r := range sortValues(c.releases) {
		c.runRelease(r, now)
	}
	for _, s := range c.sources {
		s.fetched = s.object
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

// revision returns a commit of the output as Flux names it; "" for none.
func (c *cluster) revision(commit string) string {
	if commit == "" {
		return ""
	}
	return c.options.Environment + "@sha1:" + commit
}

// addEvent notes what has happened to a component.
func (c *cluster) addEvent(of *object, needsPerson bool, message string) {
	c.events = append(c.events, Event{of.component(), message, needsPerson})
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

// apply brings an object to its controller.
func (c *cluster) apply(o *object) {
	switch {
	case o.kind == "Kustomization" && o.spec.SourceRef.Name == rootSource:
		c.applyKustomization(o)
	case o.kind == "Terraform":
		if c.terraforms[o.objectKey] == nil {
			c.terraforms[o.objectKey] = &terraform{}
		}
		t := c.terraforms[o.objectKey]
		t.object = o.after(t.object)
	case o.kind == "GitRepository":
		if c.sources[o.objectKey] == nil {
			c.sources[o.objectKey] = &source{}
		}
		s := c.sources[o.objectKey]
		s.object = o.after(s.object)
	case o.kind == "HelmRelease":
		if c.releases[o.objectKey] == nil {
			c.releases[o.objectKey] = &release{}
		}
		r := c.releases[o.objectKey]
		r.object = o.after(r.object)
	}
}

// prune removes an object, unless it is protected. What a Terraform object has made stays, and the object goes
// as [cluster.removeTerraform] says.
func (c *cluster) prune(o *object) {
	if o.notes["kustomize.toolkit.fluxcd.io/prune"] == "disabled" {
		return
	}
	delete(c.sources, o.objectKey)
	if k := c.kustomizations[o.objectKey]; k != nil && o.kind == "Kustomization" {
		k.isDeleted = true
	}
	if t := c.terraforms[o.objectKey]; t != nil {
		t.isDeleted = true
	}
	if r := c.releases[o.objectKey]; r != nil {
		r.isDeleted = true
	}
}

// sourceOf returns the source of an object; nil if there is none.
func (c *cluster) sourceOf(o *object) *source {
	return c.sources[objectKey{"GitRepository", o.namespace, o.spec.SourceRef.Name}]
}

// commitOf returns the commit that was fetched of the source of an object; "" if there is none.
func (c *cluster) commitOf(o *object) string {
	if s := c.sourceOf(o); s != nil && s.fetched != nil {
		return s.fetched.commit()
	}
	return ""
}

// branchOf returns the branch, or the tag, that the source of an object is of.
func (c *cluster) branchOf(o *object) string {
	if s := c.sourceOf(o); s != nil {
		return cmp.Or(s.spec.Ref.Branch, s.spec.Ref.Tag)
	}
	return ""
}

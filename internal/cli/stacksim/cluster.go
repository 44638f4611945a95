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

type condition struct {
	status, reason, message string
	since                   time.Time
}

func (c *condition) set(now time.Time, status, reason, message string) {
	if c.status != status || c.reason != reason || c.message != message {
		*c = condition{status, reason, message, now}
	}
}

type cluster struct {
	options Options

	head           string
	output         tree.Tree
	fetched        condition
	kustomizations map[objectKey]*kustomization
	terraforms     map[objectKey]*terraform
	sources        map[objectKey]*source
	releases       map[objectKey]*release
	secrets        map[objectKey]map[string]string
	checks         map[kubeobject.HealthExpr]*healthcheck.Check
	requeue        time.Duration
	reporter       reporter
	events         []Event
	watch          func(*object)
	isBusy         func(*terraform) bool // no free worker for a due object; nil for never
	written        map[string]string
}

type source struct {
	*object
	fetched *object
}

func newCluster(o Options) *cluster {
	c := &cluster{
		options: o, kustomizations: map[objectKey]*kustomization{}, terraforms: map[objectKey]*terraform{}, sources: map[objectKey]*source{}, releases: map[objectKey]*release{},
		secrets: map[objectKey]map[string]string{}, checks: map[kubeobject.HealthExpr]*healthcheck.Check{}, requeue: defaultRequeue, reporter: newReporter(), written: map[string]string{},
	}
	c.applyKustomization(c.newRoot(rootName, objectsFolder))
	return c
}

type readsModule func(commit, folder string) (module, error)

// reconcile runs all controllers.
//
// It keeps the races of a real cluster: Kustomizations of components see a new commit before their
// own update from it is applied, and Terraform objects run before their source is fetched again.
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

func sortValues[V any](all map[objectKey]V) []V {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b objectKey) int { return strings.Compare(a.String(), b.String()) })
	values := make([]V, len(keys))
	for i, key := range keys {
		values[i] = all[key]
	}
	return values
}

func (c *cluster) revision(commit string) string {
	if commit == "" {
		return ""
	}
	return c.options.Environment + "@sha1:" + commit
}

func (c *cluster) addEvent(of *object, needsPerson bool, message string) {
	c.events = append(c.events, Event{of.component(), message, needsPerson})
}

func (c *cluster) wrote(o *object) {
	if c.watch != nil {
		c.watch(o)
	}
}

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

// after sets the generation that follows before's; before may be nil.
func (o *object) after(before *object) *object {
	if before != nil {
		o.generation = before.generation
		if before.digest != o.digest {
			o.generation++
		}
	}
	return o
}

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

// prune removes an object unless protected. Terraform objects follow [cluster.removeTerraform].
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

func (c *cluster) sourceOf(o *object) *source {
	return c.sources[objectKey{"GitRepository", o.namespace, o.spec.SourceRef.Name}]
}

func (c *cluster) commitOf(o *object) string {
	if s := c.sourceOf(o); s != nil && s.fetched != nil {
		return s.fetched.commit()
	}
	return ""
}

func (c *cluster) branchOf(o *object) string {
	if s := c.sourceOf(o); s != nil {
		return cmp.Or(s.spec.Ref.Branch, s.spec.Ref.Tag)
	}
	return ""
}

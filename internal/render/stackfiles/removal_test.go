package stackfiles_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

const (
	stackFolder = "environments/checkout/dev"
	pruneNote   = "kustomize.toolkit.fluxcd.io/prune"
)

// removals is a cluster that applies and removes objects as Flux does, and fails the test where one is removed
// in a way that loses what it has made.
type removals struct {
	*testing.T
	objects map[string]decoded         // by kind and name
	owned   map[string]map[string]bool // by component
	output  tree.Tree
	steps   []string
}

// isKept reports whether Flux does not remove an object that the cluster has.
func isKept(o decoded) bool { return o.Metadata.Annotations[pruneNote] == "disabled" }

// apply applies an output: objects are written, and what it does not have any more is removed.
func (c *removals) apply(output tree.Tree) {
	c.output = output
	stack := output.Sub(stackFolder)
	now := map[string]map[string]bool{}
	for _, e := range stack.Entries() {
		if !e.IsDir() {
			continue
		}
		kustomization, _ := e.Tree().Lookup("flux-kustomization.yaml")
		if decodeObject(c.T, kustomization.Data).Spec.Suspend {
			now[e.Name] = c.owned[e.Name]
			continue
		}
		now[e.Name] = map[string]bool{}
		for file, data := range e.Tree().Sub("objects").All() {
			if strings.HasSuffix(file, ".yaml") {
				o := decodeObject(c.T, data)
				key := o.Kind + "/" + o.Metadata.Name
				c.objects[key], now[e.Name][key] = o, true
			}
		}
	}
	for component, keys := range c.owned {
		for key := range keys {
			if !now[component][key] {
				c.remove(key)
			}
		}
	}
	c.owned = now
	namespace, there := stack.Lookup("namespace.yaml")
	switch before, was := c.objects["Namespace"]; {
	case there:
		c.objects["Namespace"] = decodeObject(c.T, namespace.Data)
	case was && !isKept(before):
		for key, o := range c.objects {
			if strings.HasPrefix(key, "HelmRelease/") || strings.HasPrefix(key, "Terraform/") {
				c.Fatalf("the namespace is removed with %s, suspended %v, kept %v\n%s", key, o.Spec.Suspend, isKept(o), strings.Join(c.steps, "\n"))
			}
		}
		clear(c.objects)
	case was: // a person deletes what stays of an abandoned stack
		clear(c.objects)
	}
}

func (c *removals) remove(key string) {
	o := c.objects[key]
	deploys := strings.HasPrefix(key, "HelmRelease/") || strings.HasPrefix(key, "Terraform/")
	switch {
	case isKept(o):
	case deploys && o.Spec.Suspend:
		c.Fatalf("%s is removed while it is suspended\n%s", key, strings.Join(c.steps, "\n"))
	default:
		delete(c.objects, key)
	}
}

// isDone reports whether what is to be uninstalled is gone.
func (c *removals) isDone() bool {
	for file := range c.output.Sub(stackFolder).All() {
		if path.Base(file) == "uninstall.yaml" && c.objects["HelmRelease/checkout-dev-"+strings.Split(file, "/")[0]].Kind != "" {
			return false
		}
	}
	return true
}

// removalEdit is what people write of the stack.
type removalEdit struct {
	fields, chart               string
	noChart, deleted, abandoned bool
	team                        bool
}

func (e removalEdit) texts() map[string]string {
	texts := map[string]string{"team.yaml": protectingTeam("checkout", e.team), "settings.yaml": settingsText}
	if e.abandoned {
		texts["settings.yaml"] += "  abandoned: [checkout/dev]\n"
	}
	if e.deleted {
		return texts
	}
	texts["a.yaml"] = chartText(e.fields, e.chart)
	if e.noChart {
		texts["a.yaml"] = withoutLast(texts["a.yaml"])
	}
	return texts
}

// edit changes one thing, and returns what.
func (e *removalEdit) edit(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0, 1:
		e.fields = []string{"", leavesOut, "  teardown: true\n", "  teardown: true\n" + leavesOut}[r.IntN(4)]
	case 2:
		e.chart = []string{"", ", destroyProtection: true", ", destroy: true"}[r.IntN(3)]
	case 3:
		e.noChart = !e.noChart
	case 4, 5:
		e.deleted = !e.deleted
	case 6:
		e.abandoned = e.deleted && r.IntN(2) == 0
	case 7:
		e.team = !e.team
	}
	return fmt.Sprintf("%+v", *e)
}

// TestRemovals: whatever people write, and in whatever order, Flux removes nothing while it is suspended,
// and no namespace with what is left in it. In the end, a deleted stack is gone, except what was
// removed from it while Flux had to keep it.
func TestRemovals(t *testing.T) {
	removed := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 8))
		c := &removals{T: t, objects: map[string]decoded{}, owned: map[string]map[string]bool{}}
		var e removalEdit
		render := func(reported bool) {
			var destroyed []string
			if reported && c.isDone() {
				destroyed = []string{"checkout/dev"}
			}
			files, _, problems := keepTexts(t, e.texts(), c.output, destroyed...)
			c.steps = append(c.steps, fmt.Sprintf("reported %v: %v", reported, problems))
			if !problems.StopsEnvironment() {
				before := len(c.objects)
				c.apply(files)
				if len(c.objects) < before {
					removed++
				}
			}
		}
		render(false)
		for range 30 {
			c.steps = append(c.steps, e.edit(r))
			render(r.IntN(3) > 0)
		}
		e = removalEdit{deleted: true, chart: e.chart}
		for range 8 {
			render(true)
		}
		for _, key := range slices.Sorted(maps.Keys(c.objects)) {
			if !isKept(c.objects[key]) && !isKept(c.objects["HelmRelease/checkout-dev-web"]) {
				t.Fatalf("seed %d: %s is left\n%s", seed, key, strings.Join(c.steps, "\n"))
			}
		}
	}
	if removed < 40 {
		t.Errorf("objects were removed %d times only", removed)
	}
}

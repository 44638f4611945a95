package stacksim

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
)

// The names of the source and of the Kustomization that Flux begins with.
const (
	rootNamespace = "flux-system"
	rootSource    = "fleet"
	rootName      = "stacks"
)

// conditionsOf returns what status.conditions holds: the condition Ready, and others by their type.
func conditionsOf(generation int, ready condition, others map[string]condition) []map[string]any {
	all := []map[string]any{}
	for _, kind := range append([]string{"Ready"}, slices.Sorted(maps.Keys(others))...) {
		c := others[kind]
		if kind == "Ready" {
			c = ready
		}
		if c.status != "" {
			all = append(all, map[string]any{
				"type": kind, "status": c.status, "reason": c.reason, "message": c.message, "observedGeneration": generation,
				"lastTransitionTime": c.since.UTC().Truncate(time.Second),
			})
		}
	}
	return all
}

// status is what an object has below status.
type status map[string]any

func newStatus(c condition, generation int) status {
	return status{"observedGeneration": generation, "conditions": conditionsOf(generation, c, nil)}
}

// with returns a status with a field, unless that is empty.
func (s status) with(field, value string) status {
	if value != "" {
		s[field] = value
	}
	return s
}

// statusOf returns the status of a Terraform object.
func (c *cluster) statusOf(t *terraform) status {
	if t.begun == nil {
		return status{"observedGeneration": -1}
	}
	observed := cmp.Or(t.observed, -1)
	others := map[string]condition{"Plan": t.planCondition, "Apply": t.applyCondition}
	if t.isReconciling {
		others["Reconciling"] = condition{"True", "Progressing", "Fulfilling prerequisites", t.ready.since}
	}
	s := status{"observedGeneration": observed, "conditions": conditionsOf(t.begun.generation, t.ready, others)}
	s.with("lastAppliedRevision", c.revisionOf(t, t.applied)).with("lastAttemptedRevision", c.revisionOf(t, t.attempted)).with("lastPlannedRevision", c.revisionOf(t, t.planned))
	plan := status{}.with("pending", t.pending).with("lastApplied", t.lastApplied)
	if t.isDestroyPlan {
		plan["isDestroyPlan"] = true
	}
	if t.isDriftPlan {
		plan["isDriftDetectionPlan"] = true
	}
	s["plan"] = plan
	return s
}

// revisionOf returns a commit of the source of a Terraform object as Flux names it; "" for none.
func (c *cluster) revisionOf(t *terraform, commit string) string {
	if commit == "" {
		return ""
	}
	return c.branchOf(t.object) + "@sha1:" + commit
}

// newRoot returns the objects that Flux begins with.
func (c *cluster) newRoot() (source, root *object) {
	meta := func(name string) map[string]any { return map[string]any{"name": name, "namespace": rootNamespace} }
	source = &object{objectKey: objectKey{"GitRepository", rootNamespace, rootSource}, generation: 1, content: map[string]any{
		"metadata": meta(rootSource), "spec": map[string]any{"url": c.options.Repository, "ref": map[string]any{"branch": c.options.Environment}},
	}}
	return source, newRootOf(rootName, objectsFolder)
}

// newRootOf returns the Kustomization that applies a folder of the output.
func newRootOf(name, folder string) *object {
	return &object{objectKey: objectKey{"Kustomization", rootNamespace, name}, generation: 1, content: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": rootNamespace},
		"spec":     map[string]any{"path": "./" + folder, "sourceRef": map[string]any{"kind": "GitRepository", "name": rootSource}},
	}}
}

// readState returns the state of the objects, as an agent reads it.
func (c *cluster) readState(now time.Time) (agentapi.State, error) {
	all := map[string][]json.RawMessage{}
	var failed error
	add := func(o *object, s status) {
		raw, err := o.encode(s)
		if err != nil {
			failed = err
		}
		all[o.kind] = append(all[o.kind], raw)
	}
	source, root := c.newRoot()
	fetched := newStatus(c.root, 1)
	fetched["artifact"] = map[string]any{"revision": c.revision()}
	add(source, fetched)
	for _, clusterType := range c.types {
		add(newRootOf(clusterType, clusterType), newStatus(c.root, 1).with("lastAppliedRevision", c.revision()).with("lastAttemptedRevision", c.revision()))
	}
	add(root, newStatus(c.root, 1).with("lastAppliedRevision", c.revision()).with("lastAttemptedRevision", c.revision()))
	for _, k := range sortValues(c.kustomizations) {
		revision := func(commit string) string {
			if commit == "" {
				return ""
			}
			return c.options.Environment + "@sha1:" + commit
		}
		add(k.object, newStatus(k.ready, k.generation).with("lastAppliedRevision", revision(k.applied)).with("lastAttemptedRevision", revision(k.attempted)))
		for _, o := range sortValues(k.owned) {
			ready := newStatus(condition{status: "True", reason: "Succeeded", since: k.ready.since}, o.generation)
			switch {
			case o.kind == "GitRepository":
				ready["artifact"] = map[string]any{"revision": sourceRevision(o)}
				add(o, ready)
			case o.kind == "Kustomization" && c.sourceOf(o) != nil: // a folder of a deployment target
				add(o, ready.with("lastAppliedRevision", sourceRevision(c.sourceOf(o))))
			}
		}
	}
	for _, t := range sortValues(c.terraforms) {
		add(t.object, c.statusOf(t))
	}
	for _, r := range sortValues(c.releases) {
		s := newStatus(r.ready, r.generation).with("lastAttemptedRevision", chartVersion)
		if r.installed != (tree.ID{}) {
			s["history"] = []map[string]any{{"chartVersion": chartVersion, "status": "deployed"}}
		}
		add(r.object, s)
	}
	return agentapi.NewState(kubestatus.Read(all, now), nil), failed
}

// sourceRevision returns what Flux has fetched of a source.
func sourceRevision(o *object) string {
	return cmp.Or(o.spec.Ref.Branch, o.spec.Ref.Tag) + "@sha1:" + o.commit()
}

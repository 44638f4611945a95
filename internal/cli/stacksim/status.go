package stacksim

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger/agentapi"
	"github.com/fairlead-io/fairlead/internal/ledger/connect"
	"github.com/fairlead-io/fairlead/internal/ledger/kubestatus"
)

// Flux's first source and Kustomization.
const (
	rootNamespace = "flux-system"
	rootSource    = "fleet"
	rootName      = "stacks"
)

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

type status map[string]any

func newStatus(c condition, generation int) status {
	return status{"observedGeneration": generation, "conditions": conditionsOf(generation, c, nil)}
}

func (s status) with(field, value string) status {
	if value != "" {
		s[field] = value
	}
	return s
}

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

func (c *cluster) revisionOf(t *terraform, commit string) string {
	if commit == "" {
		return ""
	}
	return c.branchOf(t.object) + "@sha1:" + commit
}

func (c *cluster) statusOfKustomization(k *kustomization) status {
	if k.begun == nil || k.ready.status == "" {
		return status{"observedGeneration": -1}
	}
	others := map[string]condition{}
	doing := condition{"True", "ProgressingWithRetry", "Trying again revision " + c.revision(k.commit), k.ready.since}
	switch {
	case k.ready.status == "Unknown":
		doing.reason, doing.message = "Progressing", "Running health checks for revision "+c.revision(k.commit)
		others["Reconciling"] = doing
		if k.isChecking {
			others["Healthy"] = condition{"Unknown", "Progressing", doing.message, k.ready.since}
		}
	case k.retries:
		others["Reconciling"] = doing
	}
	s := status{"observedGeneration": cmp.Or(k.observed, -1), "conditions": conditionsOf(k.begun.generation, k.ready, others)}
	return s.with("lastAppliedRevision", c.revision(k.applied)).with("lastAttemptedRevision", c.revision(k.attempted))
}

func (c *cluster) newRoot(name, folder string) *object {
	timeout := connect.Bootstrap{}.TimeoutText()
	o := &object{objectKey: objectKey{"Kustomization", rootNamespace, name}, generation: 1, content: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": rootNamespace},
		"spec":     map[string]any{"path": "./" + folder, "sourceRef": map[string]any{"kind": "GitRepository", "name": rootSource}, "wait": true, "timeout": timeout},
	}}
	o.spec.Path, o.spec.SourceRef.Name, o.spec.Wait, o.spec.Timeout, o.spec.RetryInterval = "./"+folder, rootSource, true, timeout, "30s"
	return o
}

func (c *cluster) newFleet(now time.Time) (*object, status) {
	o := &object{objectKey: objectKey{"GitRepository", rootNamespace, rootSource}, generation: 1, content: map[string]any{
		"metadata": map[string]any{"name": rootSource, "namespace": rootNamespace},
		"spec":     map[string]any{"url": c.options.Repository, "ref": map[string]any{"branch": c.options.Environment}},
	}}
	if c.fetched.status == "" || c.fetched.message != c.revision(c.head) {
		c.fetched.set(now, "True", "Succeeded", c.revision(c.head))
	}
	s := newStatus(c.fetched, 1)
	s["artifact"] = map[string]any{"revision": c.revision(c.head)}
	return o, s
}

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
	add(c.newFleet(now))
	for _, k := range sortValues(c.kustomizations) {
		add(k.object, c.statusOfKustomization(k))
		for _, o := range sortValues(k.owned) {
			ready := newStatus(condition{status: "True", reason: "Succeeded", since: k.ready.since}, o.generation)
			switch s := c.sourceOf(o); {
			case o.kind == "Kustomization" && s != nil:
				add(o, ready.with("lastAppliedRevision", sourceRevision(s.object)))
			case o.kind == "GitRepository" && c.sources[o.objectKey].fetched != nil:
				ready["artifact"] = map[string]any{"revision": sourceRevision(c.sources[o.objectKey].fetched)}
				add(o, ready)
			}
		}
	}
	for _, t := range sortValues(c.terraforms) {
		add(t.object, c.statusOf(t))
	}
	for _, r := range sortValues(c.releases) {
		add(r.object, r.status())
	}
	return agentapi.NewState(kubestatus.Read(all, now), nil), failed
}

func sourceRevision(o *object) string {
	return cmp.Or(o.spec.Ref.Branch, o.spec.Ref.Tag) + "@sha1:" + o.commit()
}

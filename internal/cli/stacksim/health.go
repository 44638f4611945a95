package stacksim

import (
	"encoding/json"

	"github.com/fairlead-io/fairlead/internal/kube/healthcheck"
)

type health int

const (
	healthy health = iota
	inProgress
	failed
)

// healthOf evaluates a Kustomization's expressions as kustomize-controller does, or Flux's default
// rule.
func (c *cluster) healthOf(k *kustomization, o *object) (health, error) {
	if o.kind == "Job" { // waits until its HelmRelease or Terraform object is gone
		if c.releases[objectKey{"HelmRelease", o.namespace, o.name}] != nil || c.terraforms[objectKey{"Terraform", o.namespace, o.name}] != nil {
			return inProgress, nil
		}
		return healthy, nil
	}
	current, s, ok := c.findStatus(o)
	if !ok {
		return healthy, nil // without a controller
	}
	raw, err := current.encode(s)
	if err != nil {
		return inProgress, err
	}
	var decoded map[string]any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return inProgress, err
	}
	for _, e := range k.begun.spec.HealthChecks {
		if e.Kind != o.kind {
			continue
		}
		if c.checks[e] == nil {
			c.checks[e], err = healthcheck.Compile(e)
		}
		if err != nil {
			return inProgress, err
		}
		status, err := c.checks[e].Evaluate(decoded)
		return map[healthcheck.Status]health{healthcheck.Current: healthy, healthcheck.Failed: failed, healthcheck.InProgress: inProgress}[status], err
	}
	return genericHealth(raw)
}

func (c *cluster) findStatus(o *object) (*object, status, bool) {
	switch o.kind {
	case "Kustomization":
		if k := c.kustomizations[o.objectKey]; k != nil {
			return k.object, c.statusOfKustomization(k), true
		}
	case "Terraform":
		if t := c.terraforms[o.objectKey]; t != nil {
			return t.object, c.statusOf(t), true
		}
	case "HelmRelease":
		if r := c.releases[o.objectKey]; r != nil {
			return r.object, r.status(), true
		}
	}
	return o, nil, false
}

// genericHealth is Flux's rule without expressions: an object that is not ready is in progress,
// unless stalled.
func genericHealth(raw json.RawMessage) (health, error) {
	var o struct {
		Metadata struct{ Generation int }
		Status   struct {
			ObservedGeneration *int
			Conditions         []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return inProgress, err
	}
	if observed := o.Status.ObservedGeneration; observed != nil && *observed != o.Metadata.Generation {
		return inProgress, nil
	}
	is := map[string]string{}
	for _, condition := range o.Status.Conditions {
		is[condition.Type] = condition.Status
	}
	switch {
	case is["Stalled"] == "True":
		return failed, nil
	case is["Reconciling"] == "True" || is["Ready"] != "True":
		return inProgress, nil
	}
	return healthy, nil
}

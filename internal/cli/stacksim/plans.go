package stacksim

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
)

// readablePlan is what tofu-controller stores of a plan in JSON. It stays when the plan is applied.
type readablePlan struct {
	content       any
	before, after map[string]string
}

func (t *terraform) storeReadable() {
	t.readable = readablePlan{t.newJSONPlan(), t.want.inputs, t.want.inputs}
	if action, before, after := t.findChange(); action != "" {
		t.readable.before, t.readable.after = before, after
	}
}

// sendPlans posts plans that wait, or that nobody approves, with their Terraform objects, as a job on the
// cluster does, until the daemon has them.
func (c *cluster) sendPlans(ctx context.Context) error {
	for _, t := range sortValues(c.terraforms) {
		isAuto := t.spec.ApprovePlan == "auto" && t.planned != ""
		made := t.pending + "\n" + t.plan
		if isAuto {
			made = t.planned
		}
		isNew := t.work == idle && t.attempted == c.commitOf(t.object) && t.isDestroyPlan == t.spec.Destroy
		if !t.isOfStack() || !isAuto && (t.plan == "" || t.pending == "") || !isNew || c.reporter.plans[t.String()] == made {
			continue
		}
		content := maps.Clone(t.content)
		content["status"] = status{"tfplan": t.readable.content, "plan": status{}.with("pending", t.pending)}.with("lastPlannedRevision", c.revisionOf(t, t.planned))
		if c.options.Cost != nil {
			content["cost"] = c.options.Cost(t.readable.before, t.readable.after)
		}
		body, err := json.Marshal(content)
		if err != nil {
			return err
		}
		var receipt struct{ Kept bool }
		err = c.post(ctx, "/webhooks/plans/"+c.options.Cluster, http.Header{"Authorization": {"Bearer " + c.options.Key}}, body, &receipt)
		if err != nil {
			return err
		}
		if receipt.Kept {
			c.reporter.plans[t.String()] = made
		}
	}
	return nil
}

func (t *terraform) newJSONPlan() any {
	action, before, after := t.findChange()
	if t.drift != "" && action == "update" {
		before = maps.Collect(maps.All(before))
		before["changed by hand"] = t.drift
	}
	values := func(of map[string]string) any {
		if len(of) == 0 {
			return nil
		}
		all := map[string]any{}
		for name, expression := range of {
			all[name] = expression
			var literal any
			if json.Unmarshal([]byte(expression), &literal) == nil {
				all[name] = literal
			}
		}
		return all
	}
	change := map[string]any{"actions": []string{cmp.Or(action, "no-op")}, "before": values(before), "after": values(after)}
	return map[string]any{"format_version": "1.2", "resource_changes": []any{
		map[string]any{"address": "module." + t.labels["fairlead.io/component"], "change": change},
	}}
}

package stacksim

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
)

// sendPlans posts waiting plans with their Terraform objects, as a job on the cluster does, until
// the daemon has them.
func (c *cluster) sendPlans(ctx context.Context) error {
	for _, t := range sortValues(c.terraforms) {
		made := t.pending + "\n" + t.plan
		isNew := t.work == idle && t.attempted == c.commitOf(t.object) && t.isDestroyPlan == t.spec.Destroy
		if !t.isOfStack() || t.plan == "" || t.pending == "" || !isNew || c.reporter.plans[t.String()] == made {
			continue
		}
		content := maps.Clone(t.content)
		content["status"] = map[string]any{"plan": map[string]any{"pending": t.pending}, "tfplan": t.newJSONPlan()}
		if c.options.Cost != nil {
			_, before, after := t.findChange()
			content["cost"] = c.options.Cost(before, after)
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
		before = maps.Clone(before)
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
	change := map[string]any{"actions": []string{action}, "before": values(before), "after": values(after)}
	return map[string]any{"format_version": "1.2", "resource_changes": []any{
		map[string]any{"address": "module." + t.labels["fairlead.io/component"], "change": change},
	}}
}

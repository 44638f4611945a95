package tfplan

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/base/list"
)

// Report is a plan and its Terraform object.
type Report struct {
	Namespace, Name string // of the object
	Annotations     map[string]string
	// PlanID is tofu-controller's id of the plan, which names the root module's commit,
	// or "". Stale means that the object changed since tofu-controller read it.
	PlanID string
	Stale  bool
	Plan   *Plan
	Costs  []cost.Change // of the field cost, which tofu-controller does not send
}

// ReadReport reads the plan in a Terraform object's status. A webhook's payload works
// too, but has no plan id. costs reads the cost; nil for Infracost.
func ReadReport(text []byte, costs *cost.Expression) (Report, error) {
	q, err := readQuestion(text)
	if err != nil {
		return Report{}, err
	}
	p, err := Read(q.Status.Plan)
	if err != nil {
		return Report{}, fmt.Errorf("the plan cannot be read: %w", err)
	}
	of, err := cost.Read(q.Cost, costs)
	if err != nil {
		return Report{}, fmt.Errorf("the cost cannot be read: %w", err)
	}
	return Report{
		Namespace: q.Metadata.Namespace, Name: q.Metadata.Name, Annotations: q.Metadata.Annotations,
		PlanID: q.planID(), Stale: q.Metadata.Generation != q.Status.Observed, Plan: p, Costs: of,
	}, nil
}

// PutDeletionsFirst sorts resource changes: those that destroy come first.
func (p *Plan) PutDeletionsFirst() {
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return list.CompareBools(slices.Contains(a.Actions, "delete"), slices.Contains(b.Actions, "delete"))
	})
}

package tfplan

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

// Report is a plan, and the Terraform object that it is of.
type Report struct {
	Namespace, Name string // of the object
	Annotations     map[string]string
	// PlanID is the id that tofu-controller has given to the plan, which names the commit of the root module; "" if the
	// object does not say it. Stale reports that the object has changed since tofu-controller has looked at it.
	PlanID string
	Stale  bool
	Plan   *Plan
}

// ReadReport reads the plan that a Terraform object has in its status beside its own, whether or not it is applied. A
// question of tofu-controller is such an object too, but does not say the id of the plan.
func ReadReport(text []byte) (Report, error) {
	q, err := readQuestion(text)
	if err != nil {
		return Report{}, err
	}
	p, err := Read(q.Status.Plan)
	if err != nil {
		return Report{}, fmt.Errorf("the plan cannot be read: %w", err)
	}
	return Report{
		Namespace: q.Metadata.Namespace, Name: q.Metadata.Name, Annotations: q.Metadata.Annotations,
		PlanID: q.Status.Pending.ID, Stale: q.Metadata.Generation != q.Status.Observed, Plan: p,
	}, nil
}

// PutDeletionsFirst orders the changes of resources: those that destroy something are the first.
func (p *Plan) PutDeletionsFirst() {
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return list.CompareBools(slices.Contains(a.Actions, "delete"), slices.Contains(b.Actions, "delete"))
	})
}

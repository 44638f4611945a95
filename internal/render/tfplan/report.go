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
	Plan            *Plan
}

// ReadReport reads the plan that a question is about, whether or not that is applied.
func ReadReport(text []byte) (Report, error) {
	q, err := readQuestion(text)
	if err != nil {
		return Report{}, err
	}
	p, err := Read(q.Status.Plan)
	if err != nil {
		return Report{}, fmt.Errorf("the plan cannot be read: %w", err)
	}
	return Report{q.Metadata.Namespace, q.Metadata.Name, q.Metadata.Annotations, p}, nil
}

// PutDeletionsFirst orders the changes of resources: those that destroy something are the first.
func (p *Plan) PutDeletionsFirst() {
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return list.CompareBools(slices.Contains(a.Actions, "delete"), slices.Contains(b.Actions, "delete"))
	})
}

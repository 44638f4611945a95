package stackfiles

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// seenPlan is what an output says of the plan of a component.
type seenPlan struct{ inputs, approved, digest string }

// readPlan returns what the folder of a component's objects says of its plan; false if it has none.
func readPlan(objects tree.Tree) (seenPlan, bool, error) {
	t, err := decodeObject[terraformSpec](objects, terraformFile)
	if err != nil || t == nil {
		return seenPlan{}, false, err
	}
	return seenPlan{t.Metadata.Annotations[InputsAnnotation], t.Spec.ApprovePlan, t.Metadata.Annotations[tfplan.DigestAnnotation]}, true, nil
}

// checkSeen reports the approvals that are new in an output and do not name a time from which on the
// previous output has made one plan, which was not approved. What a plan does depends on what was
// applied before it: when inputs come back, the approval that they had does not come back with them.
func (k *keeper) checkSeen(output tree.Tree) error {
	for _, a := range k.model.Stacks.Approvals {
		folder := planFolder(k.model, a)
		now, ok, err := readPlan(output.Sub(folder))
		if err == nil && ok && now.approved == string(a.Plan) {
			err = k.checkPlan(a, folder, now)
		}
		if err != nil {
			return fmt.Errorf("read the plan of %s/%s: %w", a.Stack, a.Component, err)
		}
	}
	return nil
}

func (k *keeper) checkPlan(a *model.PlanApproval, folder string, now seenPlan) error {
	const hint = "remove it, and approve the plan that the component makes now"
	before, _, err := readPlan(k.previous.Tree.Sub(folder))
	if err != nil { // findStacks reports it
		k.stopped[a.Stack] = true
		return nil
	}
	if before == now {
		return nil
	}
	versions, found := k.previous.Since(string(a.Output), folder)
	spent := false
	for _, version := range versions {
		then, _, err := readPlan(version)
		found = found && err == nil && then.inputs == now.inputs // somebody has edited it
		spent = spent || then.approved != ""
	}
	switch {
	case !found:
		k.stopApproved(a, hint, "the approval is of a plan that the component %s made before: since the commit %s of the output, that has had other inputs, or it is not in its history",
			a.Component, a.Output)
	case spent:
		k.stopApproved(a, hint, "an approval of the plan of the component %s has counted before: each counts once", a.Component)
	}
	return nil
}

package stackfiles

import (
	"fmt"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// refusedAnnotation is on a Terraform object whose approval does not count, with the commit of the output that the
// approval names. So the refusal can be repeated without the history of the output.
const refusedAnnotation = labelPrefix + "refused"

// seenPlan is what an output says of the plan of a component.
type seenPlan struct{ inputs, approved, digest, refused string }

// readPlan returns what the folder of a component's objects says of its plan; false if it has none.
func readPlan(objects tree.Tree) (seenPlan, bool, error) {
	t, err := decodeObject[terraformSpec](objects, terraformFile)
	if err != nil || t == nil {
		return seenPlan{}, false, err
	}
	notes := t.Metadata.Annotations
	return seenPlan{notes[InputsAnnotation], t.Spec.ApprovePlan, notes[tfplan.DigestAnnotation], notes[refusedAnnotation]}, true, nil
}

// refuseUnseen returns an output without the approvals that are new in it and do not name a time since which the
// previous output has made one plan, which was not approved. What a plan does depends on what was
// applied before it: when inputs come back, the approval that they had does not come back with them.
func (k *keeper) refuseUnseen(output tree.Tree) (tree.Tree, error) {
	for _, a := range k.model.Stacks.Approvals {
		folder := planFolder(k.model, a)
		now, ok, err := readPlan(output.Sub(folder))
		if err == nil && ok && now.approved == string(a.Plan) {
			output, err = k.refusePlan(output, a, folder, now)
		}
		if err != nil {
			return output, fmt.Errorf("read the plan of %s/%s: %w", a.Stack, a.Component, err)
		}
	}
	return output, nil
}

func (k *keeper) refusePlan(output tree.Tree, a *model.PlanApproval, folder string, now seenPlan) (tree.Tree, error) {
	before, _, err := readPlan(k.previous.Tree.Sub(folder))
	if err != nil { // findStacks reports it
		k.stopped[a.Stack] = true
		return output, nil
	}
	why := k.previous.findRefusal(a, folder, before, now)
	if why == "" {
		return output, nil
	}
	const hint = "remove it, and approve the plan that the component makes now"
	if isOfClusters(k.model, a.Stack) {
		k.stopApproved(a, hint, "%s", why)
		return output, nil
	}
	k.problems.Warnf(a.Pos, a.Subject(), hint, "%s", why)
	entry, _ := output.Lookup(path.Dir(folder))
	c, err := readRenderedComponent(tree.Dir(a.Component, entry.Tree()))
	if err != nil {
		return output, err
	}
	return c.disapprove(output, path.Dir(folder), refusedAnnotation, string(a.Output))
}

// findRefusal returns why an approval does not count; "" if it does.
func (p Previous) findRefusal(a *model.PlanApproval, folder string, before, now seenPlan) string {
	if before == now {
		return ""
	}
	versions, found := p.Since(string(a.Output), folder)
	found = found && (before.inputs == "" || before.inputs == now.inputs) && (before.refused == "" || before.refused != string(a.Output))
	spent := false
	for _, version := range versions {
		then, _, err := readPlan(version)
		found = found && err == nil && then.inputs == now.inputs // somebody has edited it
		spent = spent || then.approved != ""
	}
	switch {
	case !found:
		return fmt.Sprintf("the approval is of a plan that the component %s made before, and does not count: since the commit %s of the output, that has had other inputs, or it is not in its history", a.Component, a.Output)
	case spent:
		return fmt.Sprintf("an approval of the plan of the component %s has counted before: each counts once", a.Component)
	}
	return ""
}

package tfobject

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// AutoApproved is the approvePlan of plans that are applied without approval.
const AutoApproved = "auto"

// Plan is the plan of a component.
type Plan struct {
	Component  string
	Auto       bool // needs no approval
	Versioned  bool // its module has a version
	Deleted    bool // its stack's file was deleted
	ID, Inputs string
}

// SetApproval sets the approved plan of a Terraform object, and its digest if that is
// compared.
func (c Plan) SetApproval(o *kubeobject.Object[Spec], a *model.PlanApproval, problems *problem.List) {
	isCompared := len(o.Spec.Webhooks) > 0
	o.Spec.ApprovePlan = c.approve(a, isCompared, problems)
	if o.Spec.ApprovePlan != c.ID {
		return
	}
	switch {
	case isCompared && a.Digest == "":
		problems.Addf(a.Pos, a.Subject(), "read the plan with fairlead stack plan --plans, and write its digest into spec.digest",
			"the approval has no digest of the plan of the component %s, which tofu-controller has compared before it applies the plan", c.Component)
		o.Spec.ApprovePlan = ""
	case isCompared:
		o.Metadata.Annotations[tfplan.DigestAnnotation] = a.Digest
	case a.Digest != "":
		problems.Warnf(a.Pos, a.Subject(), "set spec.plans.webhook of the StackSettings", "the digest of the plan of the component %s is not compared with anything", c.Component)
	}
}

// approve returns the approved plan: "auto" for all, "" for none.
//
// An approval names its inputs, and does not count for others. Rendering sees one commit: whether the inputs changed
// and changed back is compared with the history of the output.
//
// The plan of an unpinned module needs the digest comparison of tofu-controller, which
// plans again before it applies.
func (c Plan) approve(a *model.PlanApproval, isCompared bool, problems *problem.List) string {
	switch {
	case a == nil && c.Auto:
		return AutoApproved
	case a == nil:
		return ""
	case c.Auto:
		problems.Addf(a.Pos, a.Subject(), "remove it", "the plans of the component %s are approved without a person", c.Component)
		return ""
	case !c.Versioned && !isCompared:
		problems.Addf(a.Pos, a.Subject(), c.versionHint(),
			"a module of the component %s has no version: what is applied could be another plan than the one that was approved", c.Component)
		return ""
	case string(a.Inputs) != c.Inputs || string(a.Plan) != c.ID:
		problems.Warnf(a.Pos, a.Subject(), "approve the new plan once it was made, or remove this approval",
			"the approval is not for the plan of the component %s, and does not count: it is for %s with the inputs %s, and the plan is %s with the inputs %s",
			c.Component, strings.TrimSpace(string(a.Plan)), a.Inputs, c.ID, c.Inputs)
		return ""
	}
	return c.ID
}

// VersionHint explains how to give a module a version.
const VersionHint = "write ?ref= and a version as v1.2.3, a whole commit or refs/tags/NAME behind the source of each module that it calls, or the exact version of a module of a registry; fairlead stack pin does it for a stack"

// versionHint explains how to make plans of an unversioned module approvable.
func (c Plan) versionHint() string {
	if c.Deleted {
		return "restore the file of the stack with teardown: true, and " + VersionHint
	}
	return VersionHint
}

// WarnOfDestruction warns of a component whose destruction cannot be approved.
func (c Plan) WarnOfDestruction(pos problem.Pos, subject string, o *kubeobject.Object[Spec], problems *problem.List) {
	if o.Spec.Destroy && !c.Auto && !c.Versioned && len(o.Spec.Webhooks) == 0 {
		problems.Warnf(pos, subject, c.versionHint(), "the component %s cannot be destroyed: a module of it has no version, so that no plan of it can be approved", c.Component)
	}
}

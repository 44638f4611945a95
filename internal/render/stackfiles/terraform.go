package stackfiles

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// The annotations of a Terraform object.
const (
	// InputsAnnotation holds the digest of all that its plan is made from, which an approval names.
	InputsAnnotation = labelPrefix + "inputs"
	pruneAnnotation  = "kustomize.toolkit.fluxcd.io/prune"
	// unversionedAnnotation is on a component whose plans cannot be approved: its module has no version.
	unversionedAnnotation = labelPrefix + "unversioned"
)

// modulesInterval is how often a source that is pinned to a commit is read again: what a commit
// holds never changes, and a new pin is read at once.
const modulesInterval = "24h"

// addTerraform adds the root module of a component, and the objects that run it. It returns the
// commit that they are pinned to.
func (r *renderer) addTerraform(folder string, c *stack.Component) (commit string) {
	files, problems := rootmodule.Generate(r.model, c, r.settings)
	r.problems = append(r.problems, problems...)
	modules := rootmodule.Folder(c)
	pin, err := newPin(modules, files)
	if err == nil {
		err = r.builder.AddEntry(modules, tree.Dir("", files))
	}
	r.reportUnrendered(modules, err)
	commit = pin.ID().String()
	source := &kubeobject.Object[gitRepositorySpec]{APIVersion: sourceAPI, Kind: "GitRepository", Metadata: componentMetadata(c), Spec: gitRepositorySpec{
		Interval: modulesInterval, URL: r.settings.Modules.Repo, Ref: &gitRef{Branch: r.settings.Modules.Branch, Commit: commit},
	}}
	if r.settings.Modules.Secret != "" {
		source.Spec.SecretRef = &kubeobject.Reference{Name: r.settings.Modules.Secret}
	}
	terraform := &kubeobject.Object[terraformSpec]{APIVersion: terraformAPI, Kind: "Terraform", Metadata: componentMetadata(c), Spec: r.newTerraformSpec(c, modules)}
	terraform.Metadata.Annotations = map[string]string{}
	if c.Protected {
		terraform.Metadata.Annotations[pruneAnnotation] = "disabled"
	}
	versioned := c.Module == nil || rootmodule.IsFixed(r.model, c) // without a module it was reported
	if !versioned {
		terraform.Metadata.Annotations[unversionedAnnotation] = "true"
	}
	inputs, err := digestInputs(commit, terraform)
	r.reportUnrendered(modules, err)
	terraform.Metadata.Annotations[InputsAnnotation] = inputs
	plan := plannedComponent{name: c.Name, auto: c.AutoApprove, versioned: versioned, plan: planID(r.settings.Modules.Branch, commit), inputs: inputs}
	plan.setApproval(terraform, r.approvals[c], &r.problems)
	r.addObject(path.Join(folder, "gitrepository.yaml"), source)
	r.addObject(path.Join(folder, "terraform.yaml"), terraform)
	return commit
}

func (r *renderer) newTerraformSpec(c *stack.Component, modules string) terraformSpec {
	spec := terraformSpec{
		Suspend: c.Skipped, Interval: text.FormatDuration(cmp.Or(c.DriftInterval, r.settings.Interval)), RetryInterval: retryInterval, Destroy: c.Destroyed, Path: "./" + modules,
		SourceRef: kubeobject.Reference{Kind: "GitRepository", Name: c.ObjectName}, Workspace: c.Stack.Workspace, StoreReadablePlan: "human",
		BackendConfig:      backendConfig{CustomConfiguration: rootmodule.Backend(c, r.settings)},
		ServiceAccountName: r.settings.Runner.ServiceAccount,
	}
	if r.settings.PlanWebhook != "" && !c.AutoApprove {
		spec.StoreReadablePlan, spec.Webhooks = "json", newPlanWebhooks(r.settings.PlanWebhook)
	}
	if len(c.Outputs) > 0 {
		spec.Outputs = &outputsSecret{Name: outputsName(c)}
		for _, o := range c.Outputs {
			spec.Outputs.Outputs = append(spec.Outputs.Outputs, o.Name.Text)
		}
		spec.Outputs.Outputs = append(spec.Outputs.Outputs, rootmodule.ValuesOutputs(c)...)
	}
	if secret := r.settings.Runner.Secret; secret != "" {
		spec.RunnerPodTemplate = &podTemplate{podSpec{[]envFrom{{kubeobject.Reference{Name: secret}}}}}
	}
	return spec
}

// newPlanWebhooks returns whom tofu-controller asks before it goes on with a plan.
func newPlanWebhooks(url string) []planWebhook {
	return []planWebhook{{
		Stage: "post-planning", URL: url, PayloadType: "SpecAndPlan",
		TestExpression: "${{ .passed }}", ErrorMessageTemplate: "${{ .reason }}",
	}}
}

// outputsName returns the name of the Secret that holds the outputs of a component.
func outputsName(c *stack.Component) string { return c.ObjectName + "-outputs" }

// pendingPlan is when a Terraform object waits for the approval of a plan.
const pendingPlan = "has(status.plan) && has(status.plan.pending) && status.plan.pending != '' && " +
	"status.conditions.exists(c, c.type == 'Ready' && c.reason == 'TerraformPlannedWithChanges')"

// terraformHealth returns when the Terraform object of a component counts as ready: after it has
// run at its commit. Without the commit, what depends on it would begin while it is still ready
// from the one before. One that waits for approval counts as failed, and is looked at again.
func terraformHealth(commit string) kubeobject.HealthExpr {
	return kubeobject.HealthExpr{
		APIVersion: terraformAPI, Kind: "Terraform",
		Failed: pendingPlan,
		Current: fmt.Sprintf("has(status.lastAttemptedRevision) && status.lastAttemptedRevision.endsWith('%s') && "+
			"status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", commit),
	}
}

// digestInputs returns the digest of all that the plan of a component is made from: the commit of
// its root module, and its object before it has an approval.
func digestInputs(commit string, o *kubeobject.Object[terraformSpec]) (string, error) {
	text, err := yamldoc.Encode(o)
	sum := sha256.Sum256(append([]byte(commit+"\n"), text...))
	return hex.EncodeToString(sum[:8]), err
}

// planID returns the id that tofu-controller gives to a plan made at a commit of a branch.
func planID(branch, commit string) string { return "plan-" + branch + "-" + commit[:10] }

// manifestLabel reports whether a text can be the value of a label.
func manifestLabel(text string) bool { return kubename.CheckLabelValue(text) == nil }

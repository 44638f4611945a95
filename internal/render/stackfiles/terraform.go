package stackfiles

import (
	"cmp"
	"maps"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// InputsAnnotation is on a Terraform object, with the digest of all that its plan is made from.
const InputsAnnotation = tfobject.InputsAnnotation

const terraformFile = "terraform.yaml"

// pruneAnnotation set to "disabled" keeps an object that Flux would remove. Flux reads it from the object
// as the cluster has it.
const pruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"

// leftOutAnnotation is on the objects of a component that selectiveReconcile leaves out, which Flux must
// not remove: a controller does nothing about an object that is removed while it is suspended.
const leftOutAnnotation = labelPrefix + "left-out"

// teamAnnotation is on the objects of a component that nothing but its Team protects.
const teamAnnotation = labelPrefix + "team-protection"

// keepingNames are the annotations of objects that Flux must not remove.
var keepingNames = []string{pruneAnnotation, leftOutAnnotation, teamAnnotation}

// keepingAnnotations are those of objects that Flux must not remove; nil if it may.
func keepingAnnotations(c *stack.Component) map[string]string {
	switch {
	case c.ProtectedByTeam:
		return map[string]string{pruneAnnotation: "disabled", teamAnnotation: "true"}
	case c.Protected:
		return map[string]string{pruneAnnotation: "disabled"}
	case c.Skipped:
		return map[string]string{pruneAnnotation: "disabled", leftOutAnnotation: "true"}
	}
	return nil
}

// setKept sets whether Flux must not remove an object, whatever selectiveReconcile says.
func setKept(o *kubeobject.Metadata, kept bool) {
	for _, name := range keepingNames {
		delete(o.Annotations, name)
	}
	if kept {
		setAnnotation(o, pruneAnnotation, "disabled")
	}
}

// addTerraform adds the root module of a component, and the objects that run it. It returns the
// commit that they are pinned to.
func (r *renderer) addTerraform(folder string, c *stack.Component) (commit string) {
	module, problems := rootmodule.Generate(r.model, c, r.settings)
	r.state = module.State
	r.problems = append(r.problems, problems...)
	modules := rootmodule.Folder(c)
	pin, err := tfobject.NewPin(modules, module.Files)
	if err == nil {
		err = r.builder.AddEntry(modules, tree.Dir("", module.Files))
	}
	r.reportUnrendered(modules, err)
	commit = pin.ID().String()
	meta := componentMetadata(c)
	meta.Annotations = map[string]string{pruneAnnotation: "disabled"} // see needsRelease
	source := tfobject.NewSource(meta, r.settings.Modules, commit)
	terraform := &kubeobject.Object[terraformSpec]{APIVersion: terraformAPI, Kind: "Terraform", Metadata: componentMetadata(c), Spec: r.newTerraformSpec(c, modules, module.Backend)}
	terraform.Metadata.Annotations = map[string]string{}
	if !module.Fixed {
		terraform.Metadata.Annotations[tfobject.UnversionedAnnotation] = "true"
	}
	inputs, err := tfobject.DigestInputs(commit, terraform)
	r.reportUnrendered(modules, err)
	terraform.Metadata.Annotations[InputsAnnotation] = inputs
	maps.Copy(terraform.Metadata.Annotations, keepingAnnotations(c)) // no plan is made from them
	if len(c.Reads) > 0 {
		terraform.Metadata.Annotations[readsAnnotation] = strings.Join(list.Convert(c.Reads, (*stack.Component).Path), " ")
	}
	plan := tfobject.Plan{Component: c.Name, Auto: c.AutoApprove, Versioned: module.Fixed, ID: tfplan.PlanID(r.settings.Modules.Branch, commit), Inputs: inputs}
	plan.SetApproval(terraform, r.approvals[c], &r.problems)
	plan.WarnOfDestruction(c.Stack.PositionAt(c.StackComponent.Name.Line), c.Stack.Subject(), terraform, &r.problems)
	r.unversioned = !plan.Versioned && !plan.Auto && !c.Destroyed && !c.Skipped && len(terraform.Spec.Webhooks) == 0 && !problems.Stops()
	r.addObject(path.Join(folder, sourceFile), source)
	r.addObject(path.Join(folder, terraformFile), terraform)
	return commit
}

func (r *renderer) newTerraformSpec(c *stack.Component, modules, backend string) terraformSpec {
	spec := terraformSpec{
		Suspend: c.Skipped, Interval: text.FormatDuration(cmp.Or(c.DriftInterval, r.settings.Interval)), RetryInterval: retryInterval, Destroy: c.Destroyed, Path: "./" + modules,
		SourceRef: kubeobject.Reference{Kind: "GitRepository", Name: c.ObjectName}, Workspace: c.Stack.Workspace, StoreReadablePlan: "human",
		BackendConfig:      &tfobject.BackendConfig{CustomConfiguration: backend},
		ServiceAccountName: r.settings.Runner.ServiceAccount,
	}
	if r.settings.PlanWebhook != "" {
		spec.StoreReadablePlan = "json" // with AutoApprove, for its costs
		if !c.AutoApprove {
			spec.Webhooks = tfobject.NewPlanWebhooks(r.settings.PlanWebhook)
		}
	}
	if len(c.Outputs) > 0 {
		spec.Outputs = &tfobject.OutputsSecret{Name: c.OutputsSecret()}
		for _, o := range c.Outputs {
			spec.Outputs.Outputs = append(spec.Outputs.Outputs, o.Name.Text)
		}
		spec.Outputs.Outputs = append(spec.Outputs.Outputs, rootmodule.ValuesOutputs(c)...)
	}
	if secret := r.settings.Runner.Secret; secret != "" {
		spec.RunnerPodTemplate = &tfobject.PodTemplate{Spec: tfobject.PodSpec{EnvFrom: []tfobject.EnvFrom{{SecretRef: kubeobject.Reference{Name: secret}}}}}
	}
	return spec
}

func manifestLabel(text string) bool { return kubename.CheckLabelValue(text) == nil }

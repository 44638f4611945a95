// Package tfobject makes the objects by which tofu-controller runs a root module: the
// Terraform object, its pinned GitRepository, and their health checks. Stacks and
// clusters share them.
//
// A pin's commit depends on the root module only: other modules and approvals do not
// move it. A plan is approved only for its inputs.
package tfobject

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// The APIs of the objects.
const (
	SourceAPI = "source.toolkit.fluxcd.io/v1"
	API       = "infra.contrib.fluxcd.io/v1alpha2"
)

const (
	// InputsAnnotation holds the digest of the plan's inputs, which an approval names.
	InputsAnnotation = model.OwnGroup + "/inputs"
	// UnversionedAnnotation marks objects whose plans cannot be approved, because their
	// module has no version.
	UnversionedAnnotation = model.OwnGroup + "/unversioned"
)

// Interval is long, since a commit never changes and a new pin is fetched at once.
const Interval = "24h"

// GitRepositorySpec has the rendered part of a GitRepository's spec.
type GitRepositorySpec struct {
	Interval  string                `yaml:"interval"`
	URL       string                `yaml:"url"`
	Ref       *GitRef               `yaml:"ref,omitempty"`
	SecretRef *kubeobject.Reference `yaml:"secretRef,omitempty"`
	Ignore    string                `yaml:"ignore,omitempty"`
}

// ignoreNothing overrides Flux's default exclusions, such as archives and pictures, and
// precedes .sourceignore files.
const ignoreNothing = "!*\n.git/\n"

// GitRef is the reference that a GitRepository reads.
type GitRef struct {
	Branch string `yaml:"branch,omitempty"`
	Tag    string `yaml:"tag,omitempty"`
	Name   string `yaml:"name,omitempty"`
	Commit string `yaml:"commit,omitempty"`
}

// Spec has the rendered part of a Terraform object's spec.
type Spec struct {
	Suspend            bool                 `yaml:"suspend,omitempty"`
	Interval           string               `yaml:"interval"`
	RetryInterval      string               `yaml:"retryInterval"`
	ApprovePlan        string               `yaml:"approvePlan"`
	Destroy            bool                 `yaml:"destroy"`
	DestroyOnDeletion  bool                 `yaml:"destroyResourcesOnDeletion"`
	Path               string               `yaml:"path"`
	SourceRef          kubeobject.Reference `yaml:"sourceRef"`
	Workspace          string               `yaml:"workspace,omitempty"`
	StoreReadablePlan  string               `yaml:"storeReadablePlan"`
	BackendConfig      *BackendConfig       `yaml:"backendConfig,omitempty"`
	VarsFrom           []VarsFrom           `yaml:"varsFrom,omitempty"`
	Outputs            *OutputsSecret       `yaml:"writeOutputsToSecret,omitempty"`
	ServiceAccountName string               `yaml:"serviceAccountName,omitempty"`
	RunnerPodTemplate  *PodTemplate         `yaml:"runnerPodTemplate,omitempty"`
	Webhooks           []PlanWebhook        `yaml:"webhooks,omitempty"`
}

// PlanWebhook is called by tofu-controller before it uses a plan.
type PlanWebhook struct {
	Stage                string `yaml:"stage"`
	URL                  string `yaml:"url"`
	PayloadType          string `yaml:"payloadType"`
	TestExpression       string `yaml:"testExpression"`
	ErrorMessageTemplate string `yaml:"errorMessageTemplate"`
}

// BackendConfig is the location of the state, by default a Secret next to the Terraform
// object.
type BackendConfig struct {
	CustomConfiguration string `yaml:"customConfiguration"`
}

// VarsFrom is a Secret whose values become text variables.
type VarsFrom struct {
	Kind string   `yaml:"kind"`
	Name string   `yaml:"name"`
	Keys []string `yaml:"varsKeys"` // as "key:variable"
}

// OutputsSecret is the Secret with the outputs of a root module.
type OutputsSecret struct {
	Name    string            `yaml:"name"`
	Labels  map[string]string `yaml:"labels,omitempty"`
	Outputs []string          `yaml:"outputs"`
}

// PodTemplate is the template of the pod that runs Terraform.
type PodTemplate struct {
	Spec PodSpec `yaml:"spec"`
}

// PodSpec is the spec of a [PodTemplate].
type PodSpec struct {
	EnvFrom []EnvFrom `yaml:"envFrom"`
}

// EnvFrom is a Secret whose values become environment variables.
type EnvFrom struct {
	SecretRef kubeobject.Reference `yaml:"secretRef"`
}

// NewPlanWebhooks returns the webhooks for plans that need approval.
func NewPlanWebhooks(url string) []PlanWebhook {
	return []PlanWebhook{{
		Stage: "post-planning", URL: url, PayloadType: "SpecAndPlan",
		TestExpression: "${{ .passed }}", ErrorMessageTemplate: "${{ .reason }}",
	}}
}

// NewSource returns the GitRepository pinned to a commit of a branch of root modules.
func NewSource(meta kubeobject.Metadata, modules model.StackModules, commit string) *kubeobject.Object[GitRepositorySpec] {
	source := &kubeobject.Object[GitRepositorySpec]{APIVersion: SourceAPI, Kind: "GitRepository", Metadata: meta, Spec: GitRepositorySpec{
		Interval: Interval, URL: modules.Repo, Ref: &GitRef{Branch: modules.Branch, Commit: commit}, Ignore: ignoreNothing,
	}}
	if modules.Secret != "" {
		source.Spec.SecretRef = &kubeobject.Reference{Name: modules.Secret}
	}
	return source
}

// Waits is true if a plan waits for approval. The condition Ready does not show it:
// after an apply it stays True next to a waiting plan.
const Waits = "has(status.plan) && has(status.plan.pending) && status.plan.pending != '' && " +
	"!(has(spec.approvePlan) && spec.approvePlan in ['auto', status.plan.pending])"

// failed is true if the object needs attention or another attempt. Without a source
// artifact it merely waits.
const failed = "has(status.conditions) && status.conditions.exists(c, c.type == 'Ready' && c.status == 'False' && c.reason != 'ArtifactFailed') || " + Waits

// settled is true if the last plan was applied or had no changes. A commit without
// changes is planned but never applied. Destruction requires a plan to destroy.
const settled = "!(has(status.plan) && has(status.plan.pending) && status.plan.pending != '') && " +
	"(has(spec.destroy) && spec.destroy ? " +
	"has(status.plan) && has(status.plan.isDestroyPlan) && status.plan.isDestroyPlan && " +
	"status.conditions.exists(c, c.type == 'Ready' && c.status == 'True' && c.reason in ['TerraformAppliedSucceed', 'TerraformPlannedNoChanges']) : " +
	"status.conditions.exists(c, c.type == 'Ready' && c.status == 'True') && " +
	"(has(status.lastAppliedRevision) && status.lastAppliedRevision == status.lastAttemptedRevision || " +
	"has(status.lastPlannedRevision) && status.lastPlannedRevision == status.lastAttemptedRevision))"

// RunTimeout is how long a Kustomization waits before it is retried, after the same
// time. An apply may take an hour, but each waiting Kustomization holds one of four
// workers of kustomize-controller, so slow components would stop Flux. Flux raises it
// to at least 30 seconds.
const RunTimeout = "1m"

// Health returns the health check of a Terraform object: it ran at its commit and has
// no plan to apply. Without the commit, dependants would start while the previous
// commit is still ready. A waiting or failed object counts as failed, so that it does
// not hold one of Flux's workers.
func Health(commit string) kubeobject.HealthExpr {
	return HealthAt(fmt.Sprintf("status.lastAttemptedRevision.endsWith('%s')", commit))
}

// HealthAt is [Health] with a CEL condition for the revision.
func HealthAt(revision string) kubeobject.HealthExpr {
	return kubeobject.HealthExpr{
		APIVersion: API, Kind: "Terraform", Failed: failed,
		Current: "has(status.conditions) && has(status.lastAttemptedRevision) && " + revision + " && " + settled,
	}
}

// DigestInputs returns the digest of a plan's inputs: the commit of the root module,
// and the Terraform object without approval.
func DigestInputs(commit string, o *kubeobject.Object[Spec]) (string, error) {
	text, err := yamldoc.Encode(o)
	sum := sha256.Sum256(append([]byte(commit+"\n"), text...))
	return hex.EncodeToString(sum[:8]), err
}

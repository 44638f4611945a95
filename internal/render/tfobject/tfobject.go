// Package tfobject makes the objects by which tofu-controller runs a root module: the Terraform object,
// the GitRepository that is pinned to the commit of the root module, and when both count as ready.
// Stacks and clusters are run by the same objects.
//
// What the package keeps true:
//   - A GitRepository is pinned to a commit whose id is a function of the root module alone: a change of
//     one root module moves its own pin, and an approval moves none.
//   - A plan is approved only for the inputs that it was made from. An approval for other inputs is a
//     problem that stops the environment, and is never left for the day when they come back.
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

// The annotations of a Terraform object.
const (
	// InputsAnnotation holds the digest of all that its plan is made from, which an approval names.
	InputsAnnotation = model.OwnGroup + "/inputs"
	// UnversionedAnnotation is on an object whose plans cannot be approved: its module has no version.
	UnversionedAnnotation = model.OwnGroup + "/unversioned"
)

// Interval is how often a source that is pinned to a commit is read again: what a commit holds never
// changes, and a new pin is read at once.
const Interval = "24h"

// GitRepositorySpec is the spec of a GitRepository, as far as it is rendered.
type GitRepositorySpec struct {
	Interval  string                `yaml:"interval"`
	URL       string                `yaml:"url"`
	Ref       *GitRef               `yaml:"ref,omitempty"`
	SecretRef *kubeobject.Reference `yaml:"secretRef,omitempty"`
	Ignore    string                `yaml:"ignore,omitempty"`
}

// ignoreNothing takes the place of what Flux leaves out of a source by default, as archives and pictures that
// are beside a module, and goes before .sourceignore files in it.
const ignoreNothing = "!*\n.git/\n"

// GitRef is what a GitRepository reads.
type GitRef struct {
	Branch string `yaml:"branch,omitempty"`
	Tag    string `yaml:"tag,omitempty"`
	Name   string `yaml:"name,omitempty"`
	Commit string `yaml:"commit,omitempty"`
}

// Spec is the spec of a Terraform object, as far as it is rendered.
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

// PlanWebhook is whom tofu-controller asks whether it may go on with a plan.
type PlanWebhook struct {
	Stage                string `yaml:"stage"`
	URL                  string `yaml:"url"`
	PayloadType          string `yaml:"payloadType"`
	TestExpression       string `yaml:"testExpression"`
	ErrorMessageTemplate string `yaml:"errorMessageTemplate"`
}

// BackendConfig is where the state is. Without one it is in a Secret beside the Terraform object.
type BackendConfig struct {
	CustomConfiguration string `yaml:"customConfiguration"`
}

// VarsFrom is a Secret whose values become variables: as texts, whatever they are.
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

// PodTemplate is that of the pod in which Terraform runs.
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

// NewPlanWebhooks returns whom tofu-controller asks before it goes on with a plan.
func NewPlanWebhooks(url string) []PlanWebhook {
	return []PlanWebhook{{
		Stage: "post-planning", URL: url, PayloadType: "SpecAndPlan",
		TestExpression: "${{ .passed }}", ErrorMessageTemplate: "${{ .reason }}",
	}}
}

// NewSource returns the GitRepository that is pinned to a commit of a branch of root modules. secret is
// the Secret with its credentials; "" for none.
func NewSource(meta kubeobject.Metadata, modules model.StackModules, commit string) *kubeobject.Object[GitRepositorySpec] {
	source := &kubeobject.Object[GitRepositorySpec]{APIVersion: SourceAPI, Kind: "GitRepository", Metadata: meta, Spec: GitRepositorySpec{
		Interval: Interval, URL: modules.Repo, Ref: &GitRef{Branch: modules.Branch, Commit: commit}, Ignore: ignoreNothing,
	}}
	if modules.Secret != "" {
		source.Spec.SecretRef = &kubeobject.Reference{Name: modules.Secret}
	}
	return source
}

// Waits is when a plan of a Terraform object waits for approval. The condition Ready does not show it: once the
// object was applied, it is True beside a waiting plan, with the outputs of before.
const Waits = "has(status.plan) && has(status.plan.pending) && status.plan.pending != '' && " +
	"!(has(spec.approvePlan) && spec.approvePlan in ['auto', status.plan.pending])"

// failed is when nothing becomes of a Terraform object without a person, or another attempt. Without an artifact
// of its source, it waits for one.
const failed = "has(status.conditions) && status.conditions.exists(c, c.type == 'Ready' && c.status == 'False' && c.reason != 'ArtifactFailed') || " + Waits

// settled is when a Terraform object is as its spec has it: its last plan is carried out, or had no changes. A commit
// without changes is planned, and never applied. What is to be destroyed has to be destroyed by a plan of that kind.
const settled = "!(has(status.plan) && has(status.plan.pending) && status.plan.pending != '') && " +
	"(has(spec.destroy) && spec.destroy ? " +
	"has(status.plan) && has(status.plan.isDestroyPlan) && status.plan.isDestroyPlan && " +
	"status.conditions.exists(c, c.type == 'Ready' && c.status == 'True' && c.reason in ['TerraformAppliedSucceed', 'TerraformPlannedNoChanges']) : " +
	"status.conditions.exists(c, c.type == 'Ready' && c.status == 'True') && " +
	"(has(status.lastAppliedRevision) && status.lastAppliedRevision == status.lastAttemptedRevision || " +
	"has(status.lastPlannedRevision) && status.lastPlannedRevision == status.lastAttemptedRevision))"

// RunTimeout is how long a Kustomization waits for its objects before it is tried again, which it is after as long.
// An apply may take an hour, but kustomize-controller has four workers by default, and a Kustomization that waits
// holds one: four slow components would stop all of Flux on a cluster. Flux counts less than 30 seconds as 30.
const RunTimeout = "1m"

// Health returns when a Terraform object counts as ready: it has run at its commit, and no plan is left to apply.
// Without the commit, what depends on it would begin while it is still ready from the one before. One that waits
// for approval, or has failed, counts as failed, so that the check ends at once: Flux would wait for it with one of
// its workers.
func Health(commit string) kubeobject.HealthExpr {
	return HealthAt(fmt.Sprintf("status.lastAttemptedRevision.endsWith('%s')", commit))
}

// HealthAt is [Health] for an object that has run at a revision for which a condition holds, in CEL.
func HealthAt(revision string) kubeobject.HealthExpr {
	return kubeobject.HealthExpr{
		APIVersion: API, Kind: "Terraform", Failed: failed,
		Current: "has(status.conditions) && has(status.lastAttemptedRevision) && " + revision + " && " + settled,
	}
}

// DigestInputs returns the digest of all that a plan is made from: the commit of the root module, and
// the Terraform object before it has an approval.
func DigestInputs(commit string, o *kubeobject.Object[Spec]) (string, error) {
	text, err := yamldoc.Encode(o)
	sum := sha256.Sum256(append([]byte(commit+"\n"), text...))
	return hex.EncodeToString(sum[:8]), err
}

// PlanID returns the id that tofu-controller gives to a plan made at a commit of a branch.
func PlanID(branch, commit string) string { return "plan-" + branch + "-" + commit[:10] }

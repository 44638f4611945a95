// Package kubeobject holds common parts of rendered Kubernetes objects: metadata, references,
// health checks and kustomize's file.
//
// The order of fields is the order of the output.
package kubeobject

import "regexp"

// An Object is an object with a spec.
type Object[S any] struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       S        `yaml:"spec,omitempty"`
}

// Metadata is an object's metadata.
type Metadata struct {
	Name        string            `yaml:"name"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// A Reference names another object. Kind and namespace may follow from the context.
type Reference struct {
	Kind      string `yaml:"kind,omitempty"`
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}

// FluxKustomization is the API version of Flux's Kustomization.
const FluxKustomization = "kustomize.toolkit.fluxcd.io/v1"

// A HealthExpr is an entry of healthCheckExprs in Flux's Kustomization, in CEL.
type HealthExpr struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Failed     string `yaml:"failed,omitempty"`
	InProgress string `yaml:"inProgress,omitempty"`
	Current    string `yaml:"current"`
}

// SealPrefix begins the names of seals: folders in components of Flux's Kustomizations, named by a
// digest of the Kustomization and its objects.
const SealPrefix = "seal-"

var (
	sealName = regexp.MustCompile(`\b` + SealPrefix + `[0-9a-f]{10}\b`)
	// ownFolder matches the error of a missing folder that only Fairlead's Kustomizations use:
	// objects of a component, of a deployment target or of a part of a cluster, or a step of a
	// clusters manifest.
	ownFolder = regexp.MustCompile(`^kustomization path not found: .*/(objects|[1-4]0-[a-z]+)(/[^/:]+)?: no such file or directory$`)
)

// IsOutdated reports whether a condition or event of a Flux Kustomization says that its seal or
// folder is missing. The Kustomization is an old version that is about to be replaced or removed,
// so this says nothing about the revision.
func IsOutdated(reason, message string) bool {
	return reason == "BuildFailed" && sealName.MatchString(message) || reason == "ArtifactFailed" && ownFolder.MatchString(message)
}

// KustomizationFile is the name of a [Kustomization] in its folder.
const KustomizationFile = "kustomization.yaml"

// A Kustomization is kustomize's file that lists what Flux applies. Without it, Flux applies all
// files, including subfolders.
type Kustomization struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Resources  []string `yaml:"resources"`
}

// NewKustomization returns the kustomization of the given files and folders.
func NewKustomization(resources []string) Kustomization {
	return Kustomization{APIVersion: "kustomize.config.k8s.io/v1beta1", Kind: "Kustomization", Resources: resources}
}

// Package kubeobject holds the parts that the rendered objects of Kubernetes have in common, as they
// are encoded: metadata, references, conditions of health, and the file that lists what a folder holds.
//
// The order of the fields is the order in which they are written.
package kubeobject

import "regexp"

// An Object is an object with a spec.
type Object[S any] struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
	Spec       S        `yaml:"spec,omitempty"`
}

// Metadata says what an object is called.
type Metadata struct {
	Name        string            `yaml:"name"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// A Reference names another object. Without a kind or a namespace, these follow from where it stands.
type Reference struct {
	Kind      string `yaml:"kind,omitempty"`
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}

// FluxKustomization is the API version of Flux's Kustomization.
const FluxKustomization = "kustomize.toolkit.fluxcd.io/v1"

// A HealthExpr is an entry of healthCheckExprs in Flux's Kustomization: when an object of a kind counts
// as failed, as in progress, and as ready, in CEL.
type HealthExpr struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Failed     string `yaml:"failed,omitempty"`
	InProgress string `yaml:"inProgress,omitempty"`
	Current    string `yaml:"current"`
}

// SealPrefix begins the names of seals: folders that Flux's Kustomizations name in components, each with a digest
// of the Kustomization and its objects.
const SealPrefix = "seal-"

var (
	sealName = regexp.MustCompile(`\b` + SealPrefix + `[0-9a-f]{10}\b`)
	// ownFolder matches that a folder is missing which only Fairlead has Kustomizations of: the objects of a
	// component, of a deployment target or of a part of a cluster, and a step of a manifest of clusters.
	ownFolder = regexp.MustCompile(`^kustomization path not found: .*/(objects|[1-4]0-[a-z]+)(/[^/:]+)?: no such file or directory$`)
)

// IsOutdated reports whether the condition or the event of a Flux Kustomization says that its seal, or its folder,
// is not in the source. It is the one of before then, and says nothing of the revision: what applies it replaces or
// removes it in a moment.
func IsOutdated(reason, message string) bool {
	return reason == "BuildFailed" && sealName.MatchString(message) || reason == "ArtifactFailed" && ownFolder.MatchString(message)
}

// KustomizationFile is the name of a [Kustomization] in its folder.
const KustomizationFile = "kustomization.yaml"

// A Kustomization is kustomize's: the file that lists what Flux applies of a folder. Without it, Flux
// applies all files, those of the folders below included.
type Kustomization struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Resources  []string `yaml:"resources"`
}

// NewKustomization returns the kustomization of a folder: the files and folders that belong to it.
func NewKustomization(resources []string) Kustomization {
	return Kustomization{APIVersion: "kustomize.config.k8s.io/v1beta1", Kind: "Kustomization", Resources: resources}
}

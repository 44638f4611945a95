package model

import (
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// Annotations that Fairlead reads on an InputManifest.
const (
	// ExecutorAnnotation selects what carries the manifest out: claudie, tofu or capi.
	ExecutorAnnotation = OwnGroup + "/executor"
	// DecommissionAnnotation set to "true" permits that clusters are destroyed.
	DecommissionAnnotation = OwnGroup + "/decommission"
	// VersionsAnnotation is the first and the last minor version of Kubernetes that the installed
	// Claudie takes, as "1.34-1.36".
	VersionsAnnotation = OwnGroup + "/kubernetes-versions"
)

// Clusters is what a model holds of the clusters that are provisioned. Its lists are sorted by namespace
// and name, and each object is composed of the base's and the environment's.
type Clusters struct {
	Manifests []*InputManifest
	Templates []*TemplateGitReference
	Bindings  []*ClusterBinding
}

// Composed is an object that is written in the base, in the environment, or in both.
type Composed struct {
	Object
	Namespace string
	// Node is the composed spec, with the comments and the order of what is written.
	Node *yaml.Node
}

// InputManifest is a composed manifest of clusters.
type InputManifest struct {
	Composed
	Spec claudie.Spec
}

// TemplateGitReference is a composed reference to Claudie's templates.
type TemplateGitReference struct {
	Composed
	Spec claudie.TemplateSpec
}

// ClusterBinding says which clusters of a manifest are of which cluster type.
type ClusterBinding struct {
	Composed
	Spec ClusterBindingSpec
}

// ClusterBindingSpec is the spec of a ClusterBinding.
type ClusterBindingSpec struct {
	InputManifest claudie.Reference `yaml:"inputManifest"`
	Clusters      []BoundCluster    `yaml:"clusters"`
}

// BoundCluster is the cluster type of one cluster, and the values that its folder is applied with.
type BoundCluster struct {
	Name        string            `yaml:"name" required:"true"`
	ClusterType string            `yaml:"clusterType"`
	Values      map[string]string `yaml:"values"`
}

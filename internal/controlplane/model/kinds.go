package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Group and Version are those of Kalypso's kinds.
const (
	Group      = "scheduler.kalypso.io"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// Annotations that Fairlead reads on Kalypso's kinds.
const (
	DependsOnAnnotation  = "fairlead.io/depends-on"
	EngineAnnotation     = "fairlead.io/engine"
	ExpansionsAnnotation = "fairlead.io/expansions"
	ClustersAnnotation   = "fairlead.io/clusters"
	// PerClusterAnnotation is on cluster types whose listed clusters have a folder each.
	PerClusterAnnotation = "fairlead.io/per-cluster"
	// OrderedAnnotation is on reconcilers whose objects a Flux Kustomization of their own applies.
	OrderedAnnotation = "fairlead.io/ordered"
)

// Labels with a meaning.
const (
	workloadLabel       = "workload"
	workspaceLabel      = "workspace"
	platformConfigLabel = "platform-config"
	ownerNameLabel      = OwnerLabelPrefix + "name"
	ownerNamespaceLabel = OwnerLabelPrefix + "namespace"
)

// OwnerLabelPrefix begins the labels that Flux puts on every object.
const OwnerLabelPrefix = "kustomize.toolkit.fluxcd.io/"

// KindInfo describes a kind for schemas: its spec is a struct whose fields carry
// `yaml` and `required` tags.
type KindInfo struct {
	Kind string
	Spec any
}

// Kinds are the kinds of scheduler.kalypso.io/v1alpha1 that people write, sorted.
var Kinds = []KindInfo{
	{"BaseRepo", baseRepoSpec{}},
	{"ClusterType", clusterTypeSpec{}},
	{"ConfigSchema", configSchemaSpec{}},
	{"DeploymentTarget", deploymentTargetSpec{}},
	{"Environment", environmentSpec{}},
	{"GitOpsRepo", repoSpec{}},
	{"SchedulingPolicy", schedulingPolicySpec{}},
	{"Template", templateSpec{}},
	{"Workload", workloadSpec{}},
	{"WorkloadRegistration", workloadRegistrationSpec{}},
}

// generatedKinds lists the kinds that Kalypso generates; people do not write them.
var generatedKinds = []string{"Assignment", "AssignmentPackage"}

func isKind(name string, kinds []KindInfo) bool {
	return slices.ContainsFunc(kinds, func(k KindInfo) bool { return k.Kind == name })
}

func kindHint(kind string, kinds []KindInfo) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Kind
	}
	return cmp.Or(problem.DidYouMean(kind, names), "the kinds are "+strings.Join(names, ", "))
}

type repoSpec struct {
	Repo   string `yaml:"repo" required:"true"`
	Branch string `yaml:"branch" required:"true"`
	Path   string `yaml:"path" required:"true"`
}

func (s repoSpec) repoRef() RepoRef { return RepoRef{Repo: s.Repo, Branch: s.Branch, Path: s.Path} }

type baseRepoSpec struct {
	repoSpec
	Commit verbatimText `yaml:"commit"`
}

type environmentSpec struct {
	ControlPlane repoSpec `yaml:"controlPlane" required:"true"`
}

type clusterTypeSpec struct {
	Reconciler       string `yaml:"reconciler" required:"true"`
	NamespaceService string `yaml:"namespaceService" required:"true"`
	ConfigType       string `yaml:"configType" required:"true"`
}

type templateSpec struct {
	Type        string        `yaml:"type" required:"true"`
	ContentType string        `yaml:"contentType"`
	Manifests   []locatedText `yaml:"manifests" required:"true"`
}

type schedulingPolicySpec struct {
	DeploymentTargetSelector targetSelectorSpec      `yaml:"deploymentTargetSelector" required:"true"`
	ClusterTypeSelector      clusterTypeSelectorSpec `yaml:"clusterTypeSelector" required:"true"`
}

type targetSelectorSpec struct {
	Workspace     string       `yaml:"workspace"`
	LabelSelector selectorSpec `yaml:"labelSelector" required:"true"`
}

type clusterTypeSelectorSpec struct {
	LabelSelector selectorSpec `yaml:"labelSelector" required:"true"`
}

type selectorSpec struct {
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []expressionSpec  `yaml:"matchExpressions"`
}

type expressionSpec struct {
	Key      string   `yaml:"key" required:"true"`
	Operator string   `yaml:"operator" required:"true"`
	Values   []string `yaml:"values"`
}

type workloadRegistrationSpec struct {
	Workload  repoSpec `yaml:"workload" required:"true"`
	Workspace string   `yaml:"workspace"`
}

type configSchemaSpec struct {
	Schema string `yaml:"schema" required:"true"`
}

type workloadSpec struct {
	DeploymentTargets []targetSpec  `yaml:"deploymentTargets"`
	ConfigSchemas     []locatedText `yaml:"configSchemas"`
}

// targetSpec is a deployment target inside a Workload. Annotations is Fairlead's
// addition; Kalypso refuses the field.
type targetSpec struct {
	Name          locatedText            `yaml:"name" required:"true"`
	Labels        map[string]string      `yaml:"labels"`
	Annotations   map[string]locatedText `yaml:"annotations"`
	Environment   string                 `yaml:"environment" required:"true"`
	Manifests     map[string]string      `yaml:"manifests" required:"true"`
	ConfigSchemas []locatedText          `yaml:"configSchemas"`
}

type deploymentTargetSpec struct {
	Name          string            `yaml:"name"`
	Labels        map[string]string `yaml:"labels"`
	Environment   string            `yaml:"environment" required:"true"`
	Manifests     map[string]string `yaml:"manifests" required:"true"`
	ConfigSchemas []locatedText     `yaml:"configSchemas"`
}

type configMapBody struct {
	Data       map[string]locatedText `yaml:"data"`
	BinaryData map[string]string      `yaml:"binaryData"`
}

package argocd

import (
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// These types are the rendered parts of Flux objects. Tests compare them with Flux's
// definitions.

const (
	sourceAPI = "source.toolkit.fluxcd.io/v1"
	helmAPI   = "helm.toolkit.fluxcd.io/v2"
)

type gitRepositorySpec struct {
	Interval  string                `yaml:"interval"`
	URL       string                `yaml:"url"`
	Ref       *gitRef               `yaml:"ref,omitempty"`
	Ignore    string                `yaml:"ignore,omitempty"`
	SecretRef *kubeobject.Reference `yaml:"secretRef,omitempty"`
}

type gitRef struct {
	Branch string `yaml:"branch,omitempty"`
	Tag    string `yaml:"tag,omitempty"`
	SemVer string `yaml:"semver,omitempty"`
	Name   string `yaml:"name,omitempty"`
	Commit string `yaml:"commit,omitempty"`
}

type helmRepositorySpec struct {
	Type            string                `yaml:"type,omitempty"`
	Interval        string                `yaml:"interval"`
	URL             string                `yaml:"url"`
	PassCredentials bool                  `yaml:"passCredentials,omitempty"`
	SecretRef       *kubeobject.Reference `yaml:"secretRef,omitempty"`
}

type ociRepositorySpec struct {
	Interval      string                `yaml:"interval"`
	URL           string                `yaml:"url"`
	Ref           *ociRef               `yaml:"ref,omitempty"`
	LayerSelector *layerSelector        `yaml:"layerSelector,omitempty"`
	SecretRef     *kubeobject.Reference `yaml:"secretRef,omitempty"`
}

type ociRef struct {
	Tag    string `yaml:"tag,omitempty"`
	SemVer string `yaml:"semver,omitempty"`
	Digest string `yaml:"digest,omitempty"`
}

type layerSelector struct {
	MediaType string `yaml:"mediaType"`
	Operation string `yaml:"operation"`
}

type helmReleaseSpec struct {
	Suspend          bool                  `yaml:"suspend,omitempty"`
	Interval         string                `yaml:"interval"`
	ReleaseName      string                `yaml:"releaseName"`
	TargetNamespace  string                `yaml:"targetNamespace"`
	StorageNamespace string                `yaml:"storageNamespace,omitempty"`
	KubeConfig       *kubeConfig           `yaml:"kubeConfig,omitempty"`
	Chart            *chartTemplate        `yaml:"chart,omitempty"`
	ChartRef         *kubeobject.Reference `yaml:"chartRef,omitempty"`
	MaxHistory       *int                  `yaml:"maxHistory,omitempty"`
	Install          installSpec           `yaml:"install"`
	Upgrade          upgradeSpec           `yaml:"upgrade"`
	Drift            driftDetection        `yaml:"driftDetection"`
	Values           *yaml.Node            `yaml:"values,omitempty"`
}

type chartTemplate struct {
	Spec chartSpec `yaml:"spec"`
}

type chartSpec struct {
	Chart               string               `yaml:"chart"`
	Version             string               `yaml:"version,omitempty"`
	ReconcileStrategy   string               `yaml:"reconcileStrategy,omitempty"`
	SourceRef           kubeobject.Reference `yaml:"sourceRef"`
	ValuesFiles         []string             `yaml:"valuesFiles,omitempty"`
	IgnoreMissingValues bool                 `yaml:"ignoreMissingValuesFiles,omitempty"`
}

type actionSpec struct {
	CRDs                     string    `yaml:"crds"`
	DisableOpenAPIValidation bool      `yaml:"disableOpenAPIValidation,omitempty"`
	DisableSchemaValidation  bool      `yaml:"disableSchemaValidation,omitempty"`
	Strategy                 *strategy `yaml:"strategy,omitempty"`
}

type installSpec struct {
	CreateNamespace bool `yaml:"createNamespace,omitempty"`
	actionSpec      `yaml:",inline"`
}

type upgradeSpec struct {
	Force      bool `yaml:"force,omitempty"`
	actionSpec `yaml:",inline"`
}

type strategy struct {
	Name          string `yaml:"name"`
	RetryInterval string `yaml:"retryInterval"`
}

type driftDetection struct {
	Mode   string       `yaml:"mode"`
	Ignore []ignoreRule `yaml:"ignore,omitempty"`
}

type ignoreRule struct {
	Paths  []string     `yaml:"paths"`
	Target objectTarget `yaml:"target"`
}

// objectTarget selects objects; names are regular expressions.
type objectTarget struct {
	Group              string `yaml:"group,omitempty"`
	Version            string `yaml:"version,omitempty"`
	Kind               string `yaml:"kind,omitempty"`
	Name               string `yaml:"name,omitempty"`
	Namespace          string `yaml:"namespace,omitempty"`
	LabelSelector      string `yaml:"labelSelector,omitempty"`
	AnnotationSelector string `yaml:"annotationSelector,omitempty"`
}

type kubeConfig struct {
	SecretRef secretKey `yaml:"secretRef"`
}

type secretKey struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key,omitempty"`
}

type kustomizationSpec struct {
	Suspend                 bool                 `yaml:"suspend,omitempty"`
	Interval                string               `yaml:"interval"`
	RetryInterval           string               `yaml:"retryInterval"`
	Timeout                 string               `yaml:"timeout"`
	SourceRef               kubeobject.Reference `yaml:"sourceRef"`
	Path                    string               `yaml:"path"`
	Prune                   bool                 `yaml:"prune"`
	DeletionPolicy          string               `yaml:"deletionPolicy"`
	Wait                    bool                 `yaml:"wait"`
	Force                   bool                 `yaml:"force,omitempty"`
	TargetNamespace         string               `yaml:"targetNamespace,omitempty"`
	KubeConfig              *kubeConfig          `yaml:"kubeConfig,omitempty"`
	NamePrefix              string               `yaml:"namePrefix,omitempty"`
	NameSuffix              string               `yaml:"nameSuffix,omitempty"`
	CommonMetadata          *commonMetadata      `yaml:"commonMetadata,omitempty"`
	Images                  []image              `yaml:"images,omitempty"`
	Patches                 []inlinePatch        `yaml:"patches,omitempty"`
	Components              []string             `yaml:"components,omitempty"`
	IgnoreMissingComponents bool                 `yaml:"ignoreMissingComponents,omitempty"`
	Ignore                  []ignoreRule         `yaml:"ignore,omitempty"`
}

type commonMetadata struct {
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type image struct {
	Name    string `yaml:"name"`
	NewName string `yaml:"newName,omitempty"`
	NewTag  string `yaml:"newTag,omitempty"`
	Digest  string `yaml:"digest,omitempty"`
}

type inlinePatch struct {
	Patch  string        `yaml:"patch"`
	Target *objectTarget `yaml:"target,omitempty"`
}

package clusterfiles

import "gopkg.in/yaml.v3"

// The types here are the parts of the objects of Flux and of the External Secrets Operator that are
// rendered; the tests hold them to the definitions of these projects.

const (
	kustomizationAPI  = "kustomize.toolkit.fluxcd.io/v1"
	externalSecretAPI = "external-secrets.io/v1"
)

type metadata struct {
	Name        string            `yaml:"name"`
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type object[S any] struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       S        `yaml:"spec"`
}

// claudieObject is an object of Claudie's, with its spec as it is written.
type claudieObject = object[*yaml.Node]

type reference struct {
	Kind      string `yaml:"kind,omitempty"`
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace,omitempty"`
}

type kustomizationSpec struct {
	DependsOn      []reference  `yaml:"dependsOn,omitempty"`
	Interval       string       `yaml:"interval"`
	RetryInterval  string       `yaml:"retryInterval"`
	Timeout        string       `yaml:"timeout"`
	Path           string       `yaml:"path"`
	SourceRef      reference    `yaml:"sourceRef"`
	Prune          bool         `yaml:"prune"`
	DeletionPolicy string       `yaml:"deletionPolicy,omitempty"`
	Force          bool         `yaml:"force"`
	Wait           bool         `yaml:"wait"`
	HealthChecks   []healthExpr `yaml:"healthCheckExprs,omitempty"`
	Decryption     *decryption  `yaml:"decryption,omitempty"`
	KubeConfig     *kubeConfig  `yaml:"kubeConfig,omitempty"`
	PostBuild      *postBuild   `yaml:"postBuild,omitempty"`
}

// healthExpr is when an object of a kind counts as failed, as in progress, and as ready, in CEL.
type healthExpr struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Failed     string `yaml:"failed"`
	InProgress string `yaml:"inProgress"`
	Current    string `yaml:"current"`
}

type decryption struct {
	Provider  string    `yaml:"provider"`
	SecretRef reference `yaml:"secretRef"`
}

type kubeConfig struct {
	SecretRef reference `yaml:"secretRef"`
}

type postBuild struct {
	Substitute map[string]string `yaml:"substitute"`
}

type externalSecretSpec struct {
	RefreshInterval string       `yaml:"refreshInterval"`
	StoreRef        reference    `yaml:"secretStoreRef"`
	Target          secretTarget `yaml:"target"`
	DataFrom        []dataFrom   `yaml:"dataFrom"`
}

type secretTarget struct {
	Name     string         `yaml:"name"`
	Template secretTemplate `yaml:"template"`
}

type secretTemplate struct {
	Metadata templateMetadata  `yaml:"metadata"`
	Data     map[string]string `yaml:"data"`
}

type templateMetadata struct {
	Labels map[string]string `yaml:"labels"`
}

type dataFrom struct {
	Find find `yaml:"find"`
}

type find struct {
	Tags map[string]string `yaml:"tags"`
}

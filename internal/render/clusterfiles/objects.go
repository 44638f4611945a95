package clusterfiles

import (
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

// These types have the rendered parts of Flux, External Secrets Operator and Kyverno
// objects. Tests compare them with the definitions of these projects.

const (
	externalSecretAPI = "external-secrets.io/v1"
	kyvernoAPI        = "kyverno.io/v1"
)

type claudieObject = kubeobject.Object[*yaml.Node]

type kustomizationSpec struct {
	DependsOn      []kubeobject.Reference  `yaml:"dependsOn,omitempty"`
	Interval       string                  `yaml:"interval"`
	RetryInterval  string                  `yaml:"retryInterval"`
	Timeout        string                  `yaml:"timeout"`
	Path           string                  `yaml:"path"`
	Components     []string                `yaml:"components,omitempty"`
	SourceRef      kubeobject.Reference    `yaml:"sourceRef"`
	Prune          bool                    `yaml:"prune"`
	DeletionPolicy string                  `yaml:"deletionPolicy,omitempty"`
	Force          bool                    `yaml:"force"`
	Wait           bool                    `yaml:"wait"`
	HealthChecks   []kubeobject.HealthExpr `yaml:"healthCheckExprs,omitempty"`
	Decryption     *decryption             `yaml:"decryption,omitempty"`
	KubeConfig     *kubeConfig             `yaml:"kubeConfig,omitempty"`
	PostBuild      *postBuild              `yaml:"postBuild,omitempty"`
}

type decryption struct {
	Provider  string               `yaml:"provider"`
	SecretRef kubeobject.Reference `yaml:"secretRef"`
}

type kubeConfig struct {
	SecretRef keyReference `yaml:"secretRef"`
}

// keyReference names a Secret and a key; "" means Flux's default, value.
type keyReference struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key,omitempty"`
}

type postBuild struct {
	Substitute map[string]string `yaml:"substitute"`
}

type externalSecretSpec struct {
	RefreshInterval string               `yaml:"refreshInterval"`
	StoreRef        kubeobject.Reference `yaml:"secretStoreRef"`
	Target          secretTarget         `yaml:"target"`
	DataFrom        []dataFrom           `yaml:"dataFrom"`
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

type policySpec struct {
	Rules []policyRule `yaml:"rules"`
}

type policyRule struct {
	Name     string          `yaml:"name"`
	Match    policyMatch     `yaml:"match"`
	Generate generatedObject `yaml:"generate"`
}

type policyMatch struct {
	Any []matchedResources `yaml:"any"`
}

type matchedResources struct {
	Resources resourceFilter `yaml:"resources"`
}

type resourceFilter struct {
	Kinds      []string      `yaml:"kinds"`
	Namespaces []string      `yaml:"namespaces"`
	Selector   labelSelector `yaml:"selector"`
}

type labelSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type generatedObject struct {
	GenerateExisting bool            `yaml:"generateExisting"`
	Synchronize      bool            `yaml:"synchronize"`
	APIVersion       string          `yaml:"apiVersion"`
	Kind             string          `yaml:"kind"`
	Name             string          `yaml:"name"`
	Namespace        string          `yaml:"namespace"`
	Data             generatedSecret `yaml:"data"`
}

type generatedSecret struct {
	Metadata templateMetadata  `yaml:"metadata"`
	Type     string            `yaml:"type"`
	Data     map[string]string `yaml:"data"`
}

package stackfiles

import (
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// The types here are the parts of the objects of Flux and of tofu-controller that are rendered; the
// tests hold them to the definitions of these projects.

const (
	sourceAPI    = tfobject.SourceAPI
	helmAPI      = "helm.toolkit.fluxcd.io/v2"
	terraformAPI = tfobject.API
)

type kustomizationSpec struct {
	Suspend       bool                    `yaml:"suspend,omitempty"`
	DependsOn     []kubeobject.Reference  `yaml:"dependsOn,omitempty"`
	Interval      string                  `yaml:"interval"`
	RetryInterval string                  `yaml:"retryInterval"`
	Timeout       string                  `yaml:"timeout"`
	Path          string                  `yaml:"path"`
	Components    []string                `yaml:"components,omitempty"`
	Prune         bool                    `yaml:"prune"`
	Wait          bool                    `yaml:"wait"`
	SourceRef     kubeobject.Reference    `yaml:"sourceRef"`
	HealthChecks  []kubeobject.HealthExpr `yaml:"healthCheckExprs,omitempty"`
}

// What stacks and clusters have in common.
type (
	gitRepositorySpec = tfobject.GitRepositorySpec
	gitRef            = tfobject.GitRef
	terraformSpec     = tfobject.Spec
)

type helmRepositorySpec struct {
	Type     string `yaml:"type,omitempty"`
	Interval string `yaml:"interval"`
	URL      string `yaml:"url"`
}

type helmReleaseSpec struct {
	Suspend    bool                   `yaml:"suspend,omitempty"`
	Interval   string                 `yaml:"interval"`
	DependsOn  []kubeobject.Reference `yaml:"dependsOn,omitempty"`
	Chart      chartTemplate          `yaml:"chart"`
	KubeConfig *kubeConfig            `yaml:"kubeConfig,omitempty"`
	Install    installSpec            `yaml:"install"`
	Upgrade    actionSpec             `yaml:"upgrade"`
	Drift      driftDetection         `yaml:"driftDetection"`
	Values     map[string]any         `yaml:"values,omitempty"`
	ValuesFrom []valuesFrom           `yaml:"valuesFrom,omitempty"`
}

type chartTemplate struct {
	Spec chartSpec `yaml:"spec"`
}

type chartSpec struct {
	Chart             string               `yaml:"chart"`
	Version           string               `yaml:"version,omitempty"`
	ReconcileStrategy string               `yaml:"reconcileStrategy,omitempty"`
	SourceRef         kubeobject.Reference `yaml:"sourceRef"`
}

// kubeConfig names the Secret with the kubeconfig of another cluster, and the key in it; "" for Flux's own.
type kubeConfig struct {
	SecretRef secretKey `yaml:"secretRef"`
}

type secretKey struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key,omitempty"`
}

type installSpec struct {
	CreateNamespace bool `yaml:"createNamespace,omitempty"`
	actionSpec      `yaml:",inline"`
}

type actionSpec struct {
	Strategy strategy `yaml:"strategy"`
}

type strategy struct {
	Name          string `yaml:"name"`
	RetryInterval string `yaml:"retryInterval"`
}

type driftDetection struct {
	Mode string `yaml:"mode"`
}

type valuesFrom struct {
	Kind      string `yaml:"kind"`
	Name      string `yaml:"name"`
	ValuesKey string `yaml:"valuesKey"`
}

type role struct {
	APIVersion string              `yaml:"apiVersion"`
	Kind       string              `yaml:"kind"`
	Metadata   kubeobject.Metadata `yaml:"metadata"`
	Rules      []rule              `yaml:"rules"`
}

type rule struct {
	APIGroups []string `yaml:"apiGroups"`
	Resources []string `yaml:"resources"`
	Verbs     []string `yaml:"verbs"`
}

type roleBinding struct {
	APIVersion string                 `yaml:"apiVersion"`
	Kind       string                 `yaml:"kind"`
	Metadata   kubeobject.Metadata    `yaml:"metadata"`
	RoleRef    roleRef                `yaml:"roleRef"`
	Subjects   []kubeobject.Reference `yaml:"subjects"`
}

type roleRef struct {
	APIGroup string `yaml:"apiGroup"`
	Kind     string `yaml:"kind"`
	Name     string `yaml:"name"`
}

type jobSpec struct {
	BackoffLimit int         `yaml:"backoffLimit"`
	Template     jobTemplate `yaml:"template"`
}

type jobTemplate struct {
	Spec jobPod `yaml:"spec"`
}

type jobPod struct {
	ServiceAccountName string          `yaml:"serviceAccountName"`
	RestartPolicy      string          `yaml:"restartPolicy"`
	SecurityContext    securityContext `yaml:"securityContext"`
	Containers         []container     `yaml:"containers"`
}

type container struct {
	Name            string          `yaml:"name"`
	Image           string          `yaml:"image"`
	Args            []string        `yaml:"args"`
	SecurityContext securityContext `yaml:"securityContext"`
}

type securityContext struct {
	RunAsNonRoot             *bool           `yaml:"runAsNonRoot,omitempty"`
	RunAsUser                int             `yaml:"runAsUser,omitempty"`
	SeccompProfile           *seccompProfile `yaml:"seccompProfile,omitempty"`
	AllowPrivilegeEscalation *bool           `yaml:"allowPrivilegeEscalation,omitempty"`
	Capabilities             *capabilities   `yaml:"capabilities,omitempty"`
}

type seccompProfile struct {
	Type string `yaml:"type"`
}

type capabilities struct {
	Drop []string `yaml:"drop"`
}

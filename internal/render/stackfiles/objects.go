package stackfiles

import "github.com/fairlead-io/fairlead/internal/kube/kubeobject"

// The types here are the parts of the objects of Flux and of tofu-controller that are rendered; the
// tests hold them to the definitions of these projects.

const (
	sourceAPI    = "source.toolkit.fluxcd.io/v1"
	helmAPI      = "helm.toolkit.fluxcd.io/v2"
	terraformAPI = "infra.contrib.fluxcd.io/v1alpha2"
)

type kustomizationSpec struct {
	DependsOn     []kubeobject.Reference  `yaml:"dependsOn,omitempty"`
	Interval      string                  `yaml:"interval"`
	RetryInterval string                  `yaml:"retryInterval"`
	Timeout       string                  `yaml:"timeout"`
	Path          string                  `yaml:"path"`
	Prune         bool                    `yaml:"prune"`
	Wait          bool                    `yaml:"wait"`
	SourceRef     kubeobject.Reference    `yaml:"sourceRef"`
	HealthChecks  []kubeobject.HealthExpr `yaml:"healthCheckExprs,omitempty"`
}

type gitRepositorySpec struct {
	Interval  string                `yaml:"interval"`
	URL       string                `yaml:"url"`
	Ref       *gitRef               `yaml:"ref,omitempty"`
	SecretRef *kubeobject.Reference `yaml:"secretRef,omitempty"`
}

type gitRef struct {
	Branch string `yaml:"branch,omitempty"`
	Tag    string `yaml:"tag,omitempty"`
	Name   string `yaml:"name,omitempty"`
	Commit string `yaml:"commit,omitempty"`
}

type helmRepositorySpec struct {
	Type     string `yaml:"type,omitempty"`
	Interval string `yaml:"interval"`
	URL      string `yaml:"url"`
}

type terraformSpec struct {
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
	BackendConfig      backendConfig        `yaml:"backendConfig"`
	Outputs            *outputsSecret       `yaml:"writeOutputsToSecret,omitempty"`
	ServiceAccountName string               `yaml:"serviceAccountName,omitempty"`
	RunnerPodTemplate  *podTemplate         `yaml:"runnerPodTemplate,omitempty"`
	Webhooks           []planWebhook        `yaml:"webhooks,omitempty"`
}

// planWebhook is whom tofu-controller asks whether it may go on with a plan.
type planWebhook struct {
	Stage                string `yaml:"stage"`
	URL                  string `yaml:"url"`
	PayloadType          string `yaml:"payloadType"`
	TestExpression       string `yaml:"testExpression"`
	ErrorMessageTemplate string `yaml:"errorMessageTemplate"`
}

type backendConfig struct {
	CustomConfiguration string `yaml:"customConfiguration"`
}

type outputsSecret struct {
	Name    string   `yaml:"name"`
	Outputs []string `yaml:"outputs"`
}

type podTemplate struct {
	Spec podSpec `yaml:"spec"`
}

type podSpec struct {
	EnvFrom []envFrom `yaml:"envFrom"`
}

type envFrom struct {
	SecretRef kubeobject.Reference `yaml:"secretRef"`
}

type helmReleaseSpec struct {
	Suspend    bool                   `yaml:"suspend,omitempty"`
	Interval   string                 `yaml:"interval"`
	DependsOn  []kubeobject.Reference `yaml:"dependsOn,omitempty"`
	Chart      chartTemplate          `yaml:"chart"`
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

type driftDetection struct {
	Mode string `yaml:"mode"`
}

type valuesFrom struct {
	Kind      string `yaml:"kind"`
	Name      string `yaml:"name"`
	ValuesKey string `yaml:"valuesKey"`
}

// role and roleBinding have no spec.
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

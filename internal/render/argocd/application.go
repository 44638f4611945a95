package argocd

import (
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// application is an Application. Fields of the API server and Argo CD are read without
// effect.
type application struct {
	APIVersion string          `yaml:"apiVersion"`
	Kind       string          `yaml:"kind"`
	Metadata   metadata        `yaml:"metadata" required:"true"`
	Spec       applicationSpec `yaml:"spec" required:"true"`
	Operation  yaml.Node       `yaml:"operation"`
	Status     yaml.Node       `yaml:"status"`
}

type metadata struct {
	Name        model.Text        `yaml:"name" required:"true"`
	Namespace   string            `yaml:"namespace"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
	Finalizers  []string          `yaml:"finalizers"`

	CreationTimestamp yaml.Node `yaml:"creationTimestamp"`
	Generation        yaml.Node `yaml:"generation"`
	ManagedFields     yaml.Node `yaml:"managedFields"`
	ResourceVersion   yaml.Node `yaml:"resourceVersion"`
	SelfLink          yaml.Node `yaml:"selfLink"`
	UID               yaml.Node `yaml:"uid"`
}

type applicationSpec struct {
	Project           model.Text   `yaml:"project"`
	Destination       destination  `yaml:"destination" required:"true"`
	Source            *source      `yaml:"source"`
	Sources           []*source    `yaml:"sources"`
	SyncPolicy        syncPolicy   `yaml:"syncPolicy"`
	IgnoreDifferences []difference `yaml:"ignoreDifferences"`
	RevisionHistory   *int         `yaml:"revisionHistoryLimit"`
	Info              yaml.Node    `yaml:"info"`
	Hydrator          yaml.Node    `yaml:"sourceHydrator"`
}

type destination struct {
	Name      model.Text `yaml:"name"`
	Server    model.Text `yaml:"server"`
	Namespace model.Text `yaml:"namespace"`
}

type source struct {
	RepoURL        model.Text       `yaml:"repoURL" required:"true"`
	Path           model.Text       `yaml:"path"`
	Chart          model.Text       `yaml:"chart"`
	TargetRevision model.Text       `yaml:"targetRevision"`
	Ref            model.Text       `yaml:"ref"`
	Name           model.Text       `yaml:"name"`
	Helm           *helmSource      `yaml:"helm"`
	Kustomize      *kustomizeSource `yaml:"kustomize"`
	Directory      *directorySource `yaml:"directory"`
	Plugin         yaml.Node        `yaml:"plugin"`
}

type helmSource struct {
	ReleaseName             model.Text      `yaml:"releaseName"`
	Namespace               model.Text      `yaml:"namespace"`
	Version                 model.Text      `yaml:"version"`
	Values                  model.Text      `yaml:"values"`
	ValuesObject            yaml.Node       `yaml:"valuesObject"`
	ValueFiles              []model.Text    `yaml:"valueFiles"`
	IgnoreMissingValueFiles bool            `yaml:"ignoreMissingValueFiles"`
	Parameters              []parameter     `yaml:"parameters"`
	FileParameters          []fileParameter `yaml:"fileParameters"`
	PassCredentials         bool            `yaml:"passCredentials"`
	SkipCRDs                bool            `yaml:"skipCrds"`
	SkipSchemaValidation    bool            `yaml:"skipSchemaValidation"`
	SkipTests               bool            `yaml:"skipTests"`
	KubeVersion             model.Text      `yaml:"kubeVersion"`
	APIVersions             []model.Text    `yaml:"apiVersions"`
}

type parameter struct {
	Name        model.Text `yaml:"name"`
	Value       model.Text `yaml:"value"`
	ForceString bool       `yaml:"forceString"`
}

type fileParameter struct {
	Name model.Text `yaml:"name"`
	Path string     `yaml:"path"`
}

type kustomizeSource struct {
	NamePrefix                string            `yaml:"namePrefix"`
	NameSuffix                string            `yaml:"nameSuffix"`
	Namespace                 model.Text        `yaml:"namespace"`
	Images                    []model.Text      `yaml:"images"`
	Replicas                  []replica         `yaml:"replicas"`
	Patches                   []patch           `yaml:"patches"`
	Components                []model.Text      `yaml:"components"`
	IgnoreMissingComponents   bool              `yaml:"ignoreMissingComponents"`
	CommonLabels              map[string]string `yaml:"commonLabels"`
	CommonAnnotations         map[string]string `yaml:"commonAnnotations"`
	CommonAnnotationsEnvsubst bool              `yaml:"commonAnnotationsEnvsubst"`
	ForceCommonLabels         bool              `yaml:"forceCommonLabels"`
	ForceCommonAnnotations    bool              `yaml:"forceCommonAnnotations"`
	LabelWithoutSelector      bool              `yaml:"labelWithoutSelector"`
	LabelIncludeTemplates     bool              `yaml:"labelIncludeTemplates"`
	Version                   model.Text        `yaml:"version"`
	KubeVersion               model.Text        `yaml:"kubeVersion"`
	APIVersions               []model.Text      `yaml:"apiVersions"`
}

type replica struct {
	Name  model.Text `yaml:"name" required:"true"`
	Count yaml.Node  `yaml:"count" required:"true"`
}

type patch struct {
	Path    model.Text      `yaml:"path"`
	Patch   model.Text      `yaml:"patch"`
	Target  *patchTarget    `yaml:"target"`
	Options map[string]bool `yaml:"options"`
}

type patchTarget struct {
	Group              string `yaml:"group"`
	Version            string `yaml:"version"`
	Kind               string `yaml:"kind"`
	Name               string `yaml:"name"`
	Namespace          string `yaml:"namespace"`
	LabelSelector      string `yaml:"labelSelector"`
	AnnotationSelector string `yaml:"annotationSelector"`
}

type directorySource struct {
	Recurse bool       `yaml:"recurse"`
	Include model.Text `yaml:"include"`
	Exclude model.Text `yaml:"exclude"`
	Jsonnet yaml.Node  `yaml:"jsonnet"`
}

type syncPolicy struct {
	Automated         *automated         `yaml:"automated"`
	SyncOptions       []model.Text       `yaml:"syncOptions"`
	Retry             *retry             `yaml:"retry"`
	NamespaceMetadata *namespaceMetadata `yaml:"managedNamespaceMetadata"`
}

type automated struct {
	Prune      bool  `yaml:"prune"`
	SelfHeal   bool  `yaml:"selfHeal"`
	AllowEmpty *bool `yaml:"allowEmpty"`
	Enabled    *bool `yaml:"enabled"`
}

type retry struct {
	Limit   yaml.Node `yaml:"limit"`
	Refresh bool      `yaml:"refresh"`
	Backoff *backoff  `yaml:"backoff"`
}

type backoff struct {
	Duration    model.Text `yaml:"duration"`
	Factor      yaml.Node  `yaml:"factor"`
	MaxDuration model.Text `yaml:"maxDuration"`
}

type namespaceMetadata struct {
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type difference struct {
	Group                 string       `yaml:"group"`
	Kind                  string       `yaml:"kind" required:"true"`
	Name                  string       `yaml:"name"`
	Namespace             string       `yaml:"namespace"`
	JSONPointers          []string     `yaml:"jsonPointers"`
	JQPathExpressions     []model.Text `yaml:"jqPathExpressions"`
	ManagedFieldsManagers []model.Text `yaml:"managedFieldsManagers"`
}

// Package claudie holds the kinds in which users of Claudie describe clusters, as plain
// values: InputManifest and TemplateGitReference.
//
// A field's yaml tag is its name in Claudie's custom resource, and zero values stand
// for unwritten fields. Claudie's defaults are in methods, so that written values can
// be compared.
package claudie

// The API of Claudie's kinds.
const (
	Group      = "claudie.io"
	APIVersion = Group + "/v1beta1"

	InputManifestKind        = "InputManifest"
	TemplateGitReferenceKind = "TemplateGitReference"
)

// Spec is the spec of an InputManifest.
type Spec struct {
	Providers     []Provider    `yaml:"providers"`
	NodePools     NodePools     `yaml:"nodePools"`
	Kubernetes    Kubernetes    `yaml:"kubernetes"`
	LoadBalancers LoadBalancers `yaml:"loadBalancers"`
}

// NodePools are the pools for clusters and load balancers.
type NodePools struct {
	Dynamic []DynamicPool `yaml:"dynamic"`
	Static  []StaticPool  `yaml:"static"`
}

// Kubernetes are the Kubernetes clusters of a manifest.
type Kubernetes struct {
	Clusters []Cluster `yaml:"clusters"`
}

// LoadBalancers are the load balancers of a manifest, and their roles.
type LoadBalancers struct {
	Roles    []Role         `yaml:"roles"`
	Clusters []LoadBalancer `yaml:"clusters"`
}

// Reference names an object in a namespace.
type Reference struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
}

// Provider is an account of a cloud or of a DNS service.
type Provider struct {
	Name         string           `yaml:"name" required:"true"`
	Type         string           `yaml:"providerType"`
	SecretRef    Reference        `yaml:"secretRef"`
	TemplatesRef *Reference       `yaml:"templatesRef"`
	Templates    *InlineTemplates `yaml:"templates"`
}

// InlineTemplates is the location of a provider's templates in Claudie up to 0.15.
type InlineTemplates struct {
	Repository string `yaml:"repository"`
	Path       string `yaml:"path"`
	Tag        string `yaml:"tag"`
}

// DynamicPool describes machines that a cloud makes, separately for each cluster and
// load balancer that names the pool.
type DynamicPool struct {
	Name         string       `yaml:"name" required:"true"`
	ProviderSpec ProviderSpec `yaml:"providerSpec"`
	// Count is 0 if the pool has an Autoscaler.
	Count           int               `yaml:"count"`
	Autoscaler      *Autoscaler       `yaml:"autoscaler"`
	ServerType      string            `yaml:"serverType"`
	Image           string            `yaml:"image"`
	StorageDiskSize *int              `yaml:"storageDiskSize"`
	Labels          map[string]string `yaml:"labels"`
	Annotations     map[string]string `yaml:"annotations"`
	Taints          []Taint           `yaml:"taints"`
	MachineSpec     *MachineSpec      `yaml:"machineSpec"`
	Spot            bool              `yaml:"spot"`
}

// ProviderSpec is the location of a pool's machines.
type ProviderSpec struct {
	Name                string `yaml:"name"`
	Region              string `yaml:"region"`
	Zone                string `yaml:"zone"`
	ExternalNetworkName string `yaml:"externalNetworkName"`
}

// Autoscaler bounds the number of nodes of a pool.
type Autoscaler struct {
	Min int `yaml:"min"`
	Max int `yaml:"max"`
}

// Taint is a taint of the nodes of a pool.
type Taint struct {
	Key    string `yaml:"key"`
	Value  string `yaml:"value"`
	Effect string `yaml:"effect"`
}

// MachineSpec describes machines if the server type does not.
type MachineSpec struct {
	CPUCount       int    `yaml:"cpuCount"`
	Memory         int    `yaml:"memory"`
	NvidiaGPUCount int    `yaml:"nvidiaGpuCount"`
	NvidiaGPUType  string `yaml:"nvidiaGpuType"`
	// NvidiaGPU is the older name of NvidiaGPUCount.
	NvidiaGPU int `yaml:"nvidiaGpu"`
}

// StaticPool is a list of machines that exist.
type StaticPool struct {
	Name        string            `yaml:"name" required:"true"`
	Nodes       []StaticNode      `yaml:"nodes"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
	Taints      []Taint           `yaml:"taints"`
	SSHPort     int               `yaml:"sshPort"`
}

// StaticNode is an existing machine, identified by its address.
type StaticNode struct {
	Endpoint  string    `yaml:"endpoint"`
	SecretRef Reference `yaml:"secretRef"`
	Username  string    `yaml:"username"`
}

// Cluster is a Kubernetes cluster.
type Cluster struct {
	Name              string             `yaml:"name" required:"true"`
	Version           string             `yaml:"version"`
	Network           string             `yaml:"network"`
	Pools             Pools              `yaml:"pools"`
	InstallationProxy *InstallationProxy `yaml:"installationProxy"`
}

// Pools are the names of the pools of a cluster.
type Pools struct {
	Control []string `yaml:"control"`
	Compute []string `yaml:"compute"`
}

// InstallationProxy is the proxy for installations on nodes.
type InstallationProxy struct {
	Mode     string `yaml:"mode"`
	Endpoint string `yaml:"endpoint"`
	NoProxy  string `yaml:"noProxy"`
}

// Role forwards a port of a load balancer to nodes.
type Role struct {
	Name        string        `yaml:"name" required:"true"`
	Protocol    string        `yaml:"protocol"`
	Port        int           `yaml:"port"`
	TargetPort  int           `yaml:"targetPort"`
	TargetPools []string      `yaml:"targetPools"`
	Settings    *RoleSettings `yaml:"settings"`
}

// RoleSettings are the settings of a role.
type RoleSettings struct {
	ProxyProtocol  bool `yaml:"proxyProtocol"`
	StickySessions bool `yaml:"stickySessions"`
}

// LoadBalancer is a cluster of machines with roles for one Kubernetes cluster.
type LoadBalancer struct {
	Name        string   `yaml:"name" required:"true"`
	Roles       []string `yaml:"roles"`
	DNS         DNS      `yaml:"dns"`
	TargetedK8s string   `yaml:"targetedK8s"`
	Pools       []string `yaml:"pools"`
}

// DNS is the name of a load balancer. Without a hostname Claudie generates one.
type DNS struct {
	Zone             string   `yaml:"dnsZone"`
	Provider         string   `yaml:"provider"`
	Hostname         string   `yaml:"hostname"`
	AlternativeNames []string `yaml:"alternativeNames"`
}

// TemplateSpec is the spec of a TemplateGitReference.
type TemplateSpec struct {
	Endpoint TemplateEndpoint `yaml:"endpoint"`
	Auth     *TemplateAuth    `yaml:"auth"`
	Commit   string           `yaml:"commit"`
	Paths    TemplatePaths    `yaml:"paths"`
}

// TemplateEndpoint is the repository of templates.
type TemplateEndpoint struct {
	URL      string `yaml:"url"`
	Protocol string `yaml:"protocol"`
}

// TemplateAuth names the credentials of the repository.
type TemplateAuth struct {
	SecretRef Reference `yaml:"secretRef"`
}

// TemplatePaths are the folders of templates in the repository.
type TemplatePaths struct {
	Terraformer  string `yaml:"terraformer"`
	Playbooks    string `yaml:"playbooks"`
	ConfigLB     string `yaml:"configLb"`
	ConfigK8s    string `yaml:"configK8s"`
	ManifestsK8s string `yaml:"manifestsK8s"`
}

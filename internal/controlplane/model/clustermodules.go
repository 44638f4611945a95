package model

const clusterModulesKind = "ClusterModules"

// ClusterModules names the modules by which tofu-controller carries out manifests of clusters.
type ClusterModules struct {
	Composed
	Spec ClusterModulesSpec
}

// ClusterModulesSpec is the spec of a ClusterModules.
type ClusterModulesSpec struct {
	// Repo is the repository of the modules, and Ref a tag or commit of it.
	Repo string `yaml:"repo" required:"true"`
	Ref  string `yaml:"ref"`
	// Providers are the modules for each type of provider.
	Providers    map[string]ProviderModules `yaml:"providers"`
	Bootstrap    ClusterModule              `yaml:"bootstrap"`
	LoadBalancer ClusterModule              `yaml:"loadBalancer"`
	// AutoApprove has plans applied without a person.
	AutoApprove bool `yaml:"autoApprove"`
	// ServiceAccount is that of the pods in which Terraform runs.
	ServiceAccount string `yaml:"serviceAccount"`
}

// ProviderModules are the modules for one type of provider.
type ProviderModules struct {
	Network ClusterModule `yaml:"network"`
	Pool    ClusterModule `yaml:"pool"`
	DNS     ClusterModule `yaml:"dns"`
}

// ClusterModule is a module: a folder of the repository, and values for variables that manifests say
// nothing about.
type ClusterModule struct {
	Path      string            `yaml:"path"`
	Variables map[string]string `yaml:"variables"`
}

// UsesModules reports whether modules carry out a manifest.
func (c *Clusters) UsesModules() bool { return !c.IsEmpty() && len(c.Modules) > 0 }

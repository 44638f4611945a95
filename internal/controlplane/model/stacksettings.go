package model

import "time"

// StackSettings is what the stacks of an environment have in common, and CloudKnit had in the
// settings of its operator.
type StackSettings struct {
	Object
	StackSettingsSpec
}

// StackSettingsSpec is the spec of StackSettings.
type StackSettingsSpec struct {
	Company  string        `yaml:"company"`
	State    StackState    `yaml:"state"`
	Modules  StackModules  `yaml:"modules"`
	Source   StackSource   `yaml:"source"`
	AWS      StackAWS      `yaml:"aws"`
	Runner   StackRunner   `yaml:"runner"`
	Interval time.Duration `yaml:"interval"`
	Follow   StackFollow   `yaml:"follow"`
	Plans    StackPlans    `yaml:"plans"`
	// ManagementCluster is the cluster that runs the stacks and makes the clusters, by the name that it
	// reports with: what others report of them does not count. "" counts all of them for stacks, and none for clusters.
	ManagementCluster string `yaml:"managementCluster"`
	// Applications is how the clusters and the repositories are reached that Applications of Argo CD name.
	Applications StackApplications `yaml:"applications"`
	// Charts is how the charts of components are installed.
	Charts StackCharts `yaml:"charts"`
	// Abandoned are deleted stacks, as "team/environment", whose objects are removed although they
	// are not destroyed.
	Abandoned []Text `yaml:"abandoned"`
}

// StackState is where Terraform keeps its state.
type StackState struct {
	Bucket    string `yaml:"bucket" required:"true"`
	Region    string `yaml:"region" required:"true"`
	LockTable string `yaml:"lockTable"`
	Profile   string `yaml:"profile"`
}

// StackModules is where the generated root modules are published, and how clusters read them.
type StackModules struct {
	Repo   string `yaml:"repo"`
	Branch string `yaml:"branch"`
	Secret string `yaml:"secret"`
}

// StackSource names the GitRepository from which the cluster that runs the stacks reads the output
// of the environment.
type StackSource struct {
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
}

// StackFollow selects what is read from repositories of others at their newest commits.
type StackFollow struct {
	// Teams has the stacks read that are in the repositories which Teams name.
	Teams bool `yaml:"teams"`
	// Modules has all modules read, or none. Without it, those are read that are on a server which
	// Fairlead was told of.
	Modules *bool `yaml:"modules"`
}

// StackPlans is how plans that a person approves are compared with those that are applied.
type StackPlans struct {
	// Webhook is the URL at which tofu-controller asks the daemon before it applies a plan.
	Webhook string `yaml:"webhook"`
}

// StackApplications is what Argo CD has in Secrets of its own.
type StackApplications struct {
	Clusters     []StackCluster    `yaml:"clusters"`
	Repositories []StackRepository `yaml:"repositories"`
}

// StackCharts is how the charts of components are installed.
type StackCharts struct {
	Kubeconfig StackKubeconfig `yaml:"kubeconfig"`
}

// StackKubeconfig names the kubeconfig of another cluster than the one that runs a stack: an output, as
// "component.output", or a Secret in the namespace of the stack, with its key there.
type StackKubeconfig struct {
	Output string `yaml:"output"`
	Secret string `yaml:"secret"`
	Key    string `yaml:"key"`
}

// StackCluster is a cluster that Applications name by its name or by the address of its API server.
type StackCluster struct {
	Name   string `yaml:"name"`
	Server string `yaml:"server"`
	// Secret holds the kubeconfig, in the namespace of the stack, and Key is its key there.
	Secret string `yaml:"secret" required:"true"`
	Key    string `yaml:"key"`
}

// StackRepository is a repository, or all below an address, and the Secret that it is read with.
type StackRepository struct {
	URL    string `yaml:"url" required:"true"`
	Secret string `yaml:"secret" required:"true"`
}

// ManagementCluster returns the cluster that the settings name as the one that runs the stacks and makes the
// clusters; "" if none is named.
func (s *Stacks) ManagementCluster() string {
	if len(s.Settings) == 0 {
		return ""
	}
	return s.Settings[0].ManagementCluster
}

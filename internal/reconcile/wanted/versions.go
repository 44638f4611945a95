package wanted

import (
	"path"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/ledger"
)

const (
	descriptorKind  = "DeploymentDescriptor"
	descriptorGroup = "hub.kalypso.io/"
	// maxDescriptors is how many YAML files of a commit are searched, and maxDescriptor how long one may
	// be, in bytes.
	maxDescriptors = 2000
	maxDescriptor  = 1 << 20
)

// Descriptor is what a DeploymentDescriptor of Kalypso says.
type Descriptor struct {
	Path                          string // of its file
	Workload, Target, Environment string
	Version                       ledger.Version
}

// descriptorSpec has the fields of a DeploymentDescriptor that are read.
type descriptorSpec struct {
	Spec struct {
		Workload struct {
			Name string `yaml:"name"`
		} `yaml:"workload"`
		DeploymentTarget struct {
			Name        string `yaml:"name"`
			Environment string `yaml:"environment"`
		} `yaml:"deploymentTarget"`
		WorkloadVersion struct {
			Version   string `yaml:"version"`
			Build     string `yaml:"build"`
			Commit    string `yaml:"commit"`
			BuildTime string `yaml:"buildTime"`
		} `yaml:"workloadVersion"`
	} `yaml:"spec"`
}

// ReadDescriptors returns the DeploymentDescriptors in the YAML files of a commit that name a version, by
// the paths of those.
func ReadDescriptors(repo *git.Repository, commit string) ([]Descriptor, error) {
	searched := 0
	t, err := repo.ReadFiles(commit, func(file string, size int64) bool {
		extension := path.Ext(file)
		if size > 0 {
			searched++
		}
		return (extension == ".yaml" || extension == ".yml") && size <= maxDescriptor && searched <= maxDescriptors
	})
	if err != nil {
		return nil, err
	}
	var all []Descriptor
	for file, text := range t.All() {
		if strings.Contains(string(text), descriptorKind) {
			all = append(all, readDescriptors(file, text)...)
		}
	}
	return all, nil
}

func readDescriptors(file string, text []byte) []Descriptor {
	objects, err := manifest.Decode(text)
	if err != nil {
		return nil
	}
	var all []Descriptor
	for _, o := range objects {
		if o.Kind != descriptorKind || !strings.HasPrefix(o.APIVersion, descriptorGroup) {
			continue
		}
		var s descriptorSpec
		_ = o.Node.Decode(&s) // fields of other types are left out
		v := s.Spec.WorkloadVersion
		built, _ := time.Parse(time.RFC3339, v.BuildTime) // another form is none
		if v.Version != "" {
			all = append(all, Descriptor{
				file, s.Spec.Workload.Name, s.Spec.DeploymentTarget.Name, s.Spec.DeploymentTarget.Environment, ledger.Version{Name: v.Version, Build: v.Build, Commit: v.Commit, Built: built},
			})
		}
	}
	return all
}

// FindVersion returns the version that a descriptor names for a deployment target in an environment: the
// first one below a folder, or else anywhere.
func FindVersion(all []Descriptor, environment, target, folder string) (ledger.Version, bool) {
	folder = strings.TrimPrefix(path.Clean("/"+folder), "/")
	best := -1
	for i, d := range all {
		if d.Environment != environment || d.Target != target && d.Workload+"-"+d.Target != target {
			continue
		}
		if folder == "" || strings.HasPrefix(d.Path, folder+"/") {
			return d.Version, true
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		return ledger.Version{}, false
	}
	return all[best].Version, true
}

// Package scaffold makes the content of a new control plane and of a new GitOps
// repository, for "fairlead init" and "fairlead demo".
//
// Files are text templates in files/ with the delimiters [[ and ]], since they contain
// {{. "dot-" in a name stands for a leading dot, and ENVIRONMENT in a path makes a file
// per environment. [ControlPlaneBranches] and [GitOpsBranches] map folders to branches.
//
// The result renders in every environment without problem or warning, with or without
// the sample. Equal options give equal bytes. Names and places are quoted for YAML and
// shells. No file contains a password.
package scaffold

import (
	"errors"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Layout is the location of an environment's output in the GitOps repository.
type Layout int

// The layouts.
const (
	// Branches has a branch for each environment, as Kalypso does.
	Branches Layout = iota
	// Folders has a folder clusters/<environment> for each, on the branch main.
	Folders
)

// Options describes the repositories to make.
type Options struct {
	// ControlPlane and GitOps are the URLs or paths of the repositories.
	ControlPlane string
	GitOps       string
	// Environments are in order of promotion; the default is dev, stage and prod.
	Environments []string
	Layout       Layout
	// Sample adds two cluster types and an assigned workload. Without it they are
	// examples in README.md files.
	Sample bool
	// Stack adds settings and a stack of Terraform modules to each environment.
	Stack bool
	// Reconciler is the built-in reconciler of the sample's cluster types; see
	// [Reconcilers]. "" means flux for one and argocd for the other.
	Reconciler string
	// Schema is the JSON Schema of all kinds for editors, written to
	// .fairlead/schema.json. Without it, a README explains how to make that file.
	Schema []byte
}

// Branch is one branch of a new repository. Branches have no common history.
type Branch struct {
	Name    string
	Files   tree.Tree
	Message string // of its first commit, one line
}

// Daemon has settings of the daemon. Zero fields mean its defaults.
type Daemon struct {
	// DataDir is the folder for mirrors.
	DataDir string
	// Listen is the host:port of the HTTP server.
	Listen string
	// Interval is the time between polls.
	Interval time.Duration
	// Create permits creating an output branch.
	Create bool
	// Write permits pushes and pull requests.
	Write   bool
	Remotes []Remote
	Forges  []Forge
}

// Remote is the credential for repositories with a URL prefix.
type Remote struct {
	URL string
	// TokenVariable is the environment variable with the token.
	TokenVariable string
	// Username goes with the token; "" means the default.
	Username string
}

// Forge is the kind of forge on a host.
type Forge struct {
	Host string
	// Kind is github, gitlab, gitea or git.
	Kind string
	// API is the API's URL; "" derives it from the host.
	API string
}

// mainBranch is the base of a control plane, and the main page of a GitOps repository.
const mainBranch = "main"

func (o Options) withDefaults() (Options, error) {
	if len(o.Environments) == 0 {
		o.Environments = []string{"dev", "stage", "prod"}
	}
	var all []string
	for _, p := range o.Problems() {
		all = append(all, p.String())
	}
	if all != nil {
		return o, errors.New(strings.Join(all, "; "))
	}
	return o, nil
}

// ControlPlaneBranches returns the branches of a new control plane: main, which is the
// base, then one per environment.
func ControlPlaneBranches(o Options) ([]Branch, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	examples := "blank"
	if o.Sample {
		examples = "sample"
	}
	branches := []Branch{{Name: mainBranch, Message: "Start the control plane"}}
	folders := [][]string{{"control-plane/all", "control-plane/main", examples + "/main"}}
	for _, env := range o.Environments {
		branches = append(branches, Branch{Name: env, Message: "Start the environment " + env})
		all := []string{"control-plane/all", "control-plane/environment", examples + "/environment"}
		if o.Stack {
			all = append(all, "stack/environment")
		}
		folders = append(folders, all)
	}
	return o.fillBranches(branches, folders)
}

// GitOpsBranches returns the branches of a new GitOps repository: main, and with
// [Branches] one per environment. Fairlead leaves their files alone: they are in the
// root, or in folders that begin with a dot.
func GitOpsBranches(o Options) ([]Branch, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	branches := []Branch{{Name: mainBranch, Message: "Start the GitOps repository"}}
	onMain := []string{"gitops/main"}
	if o.canBeCompared() {
		onMain = append(onMain, "gitops/workflow")
	}
	if o.Layout == Folders {
		return o.fillBranches(branches, [][]string{append(onMain, "gitops/folders")})
	}
	folders := [][]string{onMain}
	for _, env := range o.Environments {
		branches = append(branches, Branch{Name: env, Message: "Start the output of the environment " + env})
		folders = append(folders, []string{"gitops/branch"})
	}
	return o.fillBranches(branches, folders)
}

// SettingsFile returns a fairlead.yaml for the daemon of these repositories.
func SettingsFile(o Options, d Daemon) (string, error) {
	o, err := o.withDefaults()
	if err != nil {
		return "", err
	}
	return page{Options: o, Daemon: d}.expandFile("files/fairlead.yaml")
}

func (o Options) fillBranches(branches []Branch, folders [][]string) ([]Branch, error) {
	for i := range branches {
		var b tree.Builder
		p := page{Options: o}
		if branches[i].Name != mainBranch {
			p.Environment = branches[i].Name
		}
		for _, folder := range folders[i] {
			if err := p.addFolder(&b, "files/"+folder, ""); err != nil {
				return nil, err
			}
		}
		branches[i].Files = b.Tree()
	}
	return branches, nil
}

// Package scaffold makes the content of a new control plane and of a new GitOps
// repository, for "fairlead init" and "fairlead demo".
//
// The files are text templates in files/, with [[ and ]] around what is filled in,
// since {{ is the word of the templates that they hold. A name there that begins
// with "dot-" stands for one that begins with a dot, and ENVIRONMENT in a path
// makes a file for each environment. Which folder of files/ goes onto which
// branch is in source, in [ControlPlaneBranches] and [GitOpsBranches].
//
// What the package keeps true: what it makes renders for every environment
// without a problem or a warning, with the sample and without; the same options
// give the same bytes; names and places are quoted wherever YAML, or a shell, would
// read them as something else; and no password gets into a file.
package scaffold

import (
	"errors"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Layout is where in the GitOps repository the output of an environment goes.
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
	// ControlPlane is the URL or path of the control plane, as environments are to
	// name it.
	ControlPlane string
	// GitOps is the URL or path of the GitOps repository.
	GitOps string
	// Environments are their names in the order of promotion; dev, stage and prod
	// if there are none.
	Environments []string
	// Layout is that of the GitOps repository.
	Layout Layout
	// Sample adds two cluster types, a workload, and what puts one onto the other.
	// Without it the same files are examples in the README.md of their folders.
	Sample bool
	// Stack adds a stack of Terraform modules to each environment, and its settings.
	Stack bool
	// Reconciler is the built-in reconciler of both cluster types of the sample, and of the
	// examples: see [Reconcilers]. "" is flux for one of them and argocd for the other.
	Reconciler string
	// Schema is the JSON Schema of all kinds, for editors. It is written to
	// .fairlead/schema.json; without it a README says how to make that file.
	Schema []byte
}

// Branch is one branch of a new repository, with all its files. Branches have no
// history in common.
type Branch struct {
	Name    string
	Files   tree.Tree
	Message string // of its first commit, one line
}

// Daemon is the settings of the daemon, beside the location of the control plane. A zero
// field leaves the choice to the daemon.
type Daemon struct {
	// DataDir is the folder for mirrors.
	DataDir string
	// Listen is the host:port of the HTTP server.
	Listen string
	// Interval is the time between two polls.
	Interval time.Duration
	// Create lets it make an output branch that does not exist.
	Create bool
	// Write lets it push, and open pull requests.
	Write bool
	// Remotes are the credentials for repositories on servers.
	Remotes []Remote
	// Forges are the kinds of forges on the hosts of repositories.
	Forges []Forge
}

// Remote is the credential for the repositories whose URLs begin with URL.
type Remote struct {
	URL string
	// TokenVariable is the environment variable that has the token.
	TokenVariable string
	// Username goes with the token; "" leaves the choice to the daemon.
	Username string
}

// Forge is the kind of forge on a host.
type Forge struct {
	Host string
	// Kind is github, gitlab, gitea or git.
	Kind string
	// API is the URL of its API; "" where it follows from the host.
	API string
}

// mainBranch is the branch of a control plane that all environments share, and the
// one of a GitOps repository that people see first.
const mainBranch = "main"

// withDefaults returns the options with defaults filled in, or an error if they are invalid.
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

// ControlPlaneBranches returns the branches of a new control plane: main, which is the base,
// and then one for each environment.
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

// GitOpsBranches returns the branches of a new GitOps repository: main, and in the layout
// [Branches] one for each environment. Their files are where Fairlead does not touch them:
// in the root of the output, and in folders that begin with a dot.
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

// SettingsFile returns a fairlead.yaml for the daemon of these two repositories.
func SettingsFile(o Options, d Daemon) (string, error) {
	o, err := o.withDefaults()
	if err != nil {
		return "", err
	}
	return page{Options: o, Daemon: d}.expandFile("files/fairlead.yaml")
}

// fillBranches returns the branches with the files of their folders.
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

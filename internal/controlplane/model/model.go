// Package model reads a control plane: it parses the files of an environment's layers
// strictly, checks the objects against each other, and returns one immutable [Model].
//
// An environment is written in layers: the base (templates, registrations,
// configuration for all environments), the environment's own branch (cluster types,
// policies, configuration), and the repositories that workload registrations
// point to; below them lies a layer of built-in templates. Folders inside a layer
// mean nothing. Objects are those of Kalypso, group scheduler.kalypso.io/v1alpha1,
// ConfigMaps, and the stacks that CloudKnit calls environments; all other kinds are
// counted and left alone.
//
// What the package keeps true:
//   - Every mistake is a problem with file, line and object; all of them are found
//     in one run, and a model with problems is never rendered.
//   - A model is immutable, its lists are sorted by name, and it is the same
//     whatever order the files were given in.
//   - Nothing is dropped in silence: an object that is not taken is counted, or is
//     a warning.
//   - Text is read as Flux and Kubernetes would read it (YAML 1.2 booleans,
//     numbers refused where text is wanted), see specs "What Flux does to the files".
package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// LayerKind is the purpose of a layer, on which it depends which kinds the layer may hold.
type LayerKind int

// The kinds of layers.
const (
	BuiltIn LayerKind = iota
	Base
	Env
	Workloads
	// TeamStacks is the repository that a Team names: stacks are read from it, and nothing else.
	TeamStacks
	// Files are files of another repository that stacks name. Nothing in it is read as an object.
	Files
	// Decisions is the folder with the decisions of an environment: see [DecisionFolder].
	Decisions
	// Pins is the folder with the releases and pins of an environment: see [PinsFolder].
	Pins
)

// Layer is the files of one repository that take part in an environment.
type Layer struct {
	Kind LayerKind
	// Name is the name of the BaseRepo, the environment, or the
	// WorkloadRegistration that the layer belongs to.
	Name string
	// Files are those that Flux would load: below the path that was asked for,
	// without what is ignored.
	Files tree.Tree
	// Prefix is that path; it is put before the files' paths in positions.
	Prefix string
	// Commit is the one that Files were read at, and Moves is true if that is the head of a branch.
	// Other layers do not have them.
	Commit string
	Moves  bool
	// Modules is true if the modules that are named of it are among the files.
	Modules bool
	// Unread says why the files could not be read, and what to do about it; the zero value if they were.
	// What names files of such a layer cannot be rendered.
	Unread Unread
	// UnreadModules says why the modules that are named of it could not be read; the zero value if they
	// were, or if none are wanted. Terraform may read them all the same.
	UnreadModules Unread
}

// BaseLayer is the name of the base in positions.
const BaseLayer = "base"

func (l Layer) displayName() string {
	if l.Kind == Base {
		return BaseLayer
	}
	return l.Name
}

// Unread is why something could not be read, as one sentence, with a hint.
type Unread struct{ Summary, Hint string }

// Object is what all kinds have in common.
type Object struct {
	Kind, Name  string
	Labels      map[string]string
	Annotations map[string]string
	Pos         problem.Pos
}

// ObjectMeta returns the object itself, for code about all kinds.
func (o *Object) ObjectMeta() *Object { return o }

// Subject names the object in problems, as "Kind/name".
func (o *Object) Subject() string { return o.Kind + "/" + o.Name }

// RepoRef points to a folder of a branch, or of a commit, of a repository.
type RepoRef struct {
	Repo, Branch, Path string
	Commit             string // "" for the head of the branch
}

// Environment is a stage of the fleet, with the location of its own branch.
type Environment struct {
	Object
	ControlPlane RepoRef
}

// BaseRepo pins the commit of the base that an environment has.
type BaseRepo struct {
	Object
	RepoRef
}

// GitOpsRepo is the location of an environment's output.
type GitOpsRepo struct {
	Object
	RepoRef
}

// ClusterType is a kind of clusters that run the same things. The three fields
// are names of templates.
type ClusterType struct {
	Object
	Reconciler, NamespaceService, ConfigType string
	// Clusters is how many there are of the type, by its annotation; -1 if it has none.
	Clusters int
	Taints   []Taint
	// Type is the written cluster type, if this is the part of one cluster; "" otherwise.
	Type string

	isPerCluster bool
}

// TypeName returns the name of the written cluster type, by which templates know it.
func (c *ClusterType) TypeName() string { return cmp.Or(c.Type, c.Name) }

// Template is a list of texts to expand.
type Template struct {
	Object
	Type        string // reconciler, namespace or config; for people
	ContentType string
	Manifests   []Manifest
	Engine      string // "text" or "kustomize"
	Expansions  int    // how often output that contains "{{" is expanded, at most
	BuiltIn     bool
	// Ordered has the objects of a reconciler applied by a Flux Kustomization of their own, which
	// carries what they depend on.
	Ordered bool
}

// ConfigFile returns the name of the config file. Kalypso knows the content type "sh", and makes .yaml of others.
func (t *Template) ConfigFile() string {
	switch {
	case t.ContentType == "sh":
		return "platform-config.sh"
	case t.ContentType == "tfvars" && t.callsTfvars():
		return "platform-config.tfvars"
	}
	return "platform-config.yaml"
}

func (t *Template) callsTfvars() bool {
	return slices.ContainsFunc(t.Manifests, func(m Manifest) bool { return strings.Contains(m.Text, "toTfvars") })
}

// Manifest is one text of a template and the line at which it begins.
type Manifest struct {
	Text string
	Line int
}

// Policy assigns deployment targets to cluster types.
type Policy struct {
	Object
	ClusterTypes Selector
	Targets      Selector
	Workspace    string // "" for any
	// Choice is nil if every selected target goes to every selected cluster type.
	Choice *Choice
}

// Registration is the location of a team's workloads.
type Registration struct {
	Object
	Workload  RepoRef
	Workspace string
}

// Target is a deployment target: one location where a team wants its workload. Name
// is the full name, "<workload>-<target>"; Labels are those that selectors and
// templates see.
type Target struct {
	Object
	Workload    string
	Workspace   string
	Environment string
	Manifests   map[string]string
	Schemas     []Schema // its own, then the workload's
	// Team is true if it was written in the repository of a registration: its texts are
	// data, and never templates.
	Team      bool
	DependsOn []Dependency
	// Requests is what its annotations and those of its workload say that it needs: see [Model.RequestsOf].
	Requests Amounts
	// Pinned is nil if no release or pin sets anything on it.
	Pinned *TargetVersions

	registration string
}

// Dependency is one name in a fairlead.io/depends-on annotation: a workload's or
// a deployment target's.
type Dependency struct {
	Name string
	Pos  problem.Pos
}

// Config is a written set of platform values.
type Config struct {
	Object
	// Values are in the order of their keys.
	Values []Value
	// Platform marks an ordinary one (platform-config: "true"), App one of Azure
	// App Configuration (azure-app-config*), whose keys carry labels. Both may be
	// set.
	Platform, App bool
}

// Value is one key of a Config with its text.
type Value struct {
	Key, Text string
	Pos       problem.Pos
}

// Schema is a JSON Schema that the values of an assignment must satisfy.
type Schema struct {
	Object
	Text string
}

// Model is everything that is known about one environment. It must not be
// changed.
type Model struct {
	Environment   string
	Environments  []*Environment
	BaseRepos     []*BaseRepo
	GitOpsRepos   []*GitOpsRepo
	ClusterTypes  []*ClusterType
	Templates     []*Template
	Policies      []*Policy
	Registrations []*Registration
	Targets       []*Target
	Configs       []*Config
	Schemas       []*Schema
	Stacks        Stacks
	Clusters      Clusters
	Decisions     []*Decision
	Measures      []*Measures
	// Ignored counts the objects of other kinds, by "apiVersion Kind".
	Ignored map[string]int
	// Broken is true if a file could not be read that may hold anything: what is missing may be in it.
	Broken bool

	disabled  []*Object
	workloads []*workload
	written   []*Target
}

// PromotedCommit returns the commit of the BaseRepo named "main", or "".
func (m *Model) PromotedCommit() string {
	for _, b := range m.BaseRepos {
		if b.Name == "main" {
			return b.Commit
		}
	}
	return ""
}

// OutputRepo returns where the environment's output goes; nil if no object names a place.
func (m *Model) OutputRepo() *GitOpsRepo {
	if m == nil || len(m.GitOpsRepos) == 0 {
		return nil
	}
	return m.GitOpsRepos[0]
}

// WorkloadOf returns a function from full names of deployment targets to their workloads; "" if unknown. The
// last model that knows a target counts.
func WorkloadOf(models ...*Model) func(target string) string {
	return func(target string) string {
		for _, m := range slices.Backward(models) {
			if t := findByName(m.Targets, target); t != nil {
				return t.Workload
			}
		}
		return ""
	}
}

// Template returns the template of that name; nil if there is none.
func (m *Model) Template(name string) *Template {
	return findByName(m.Templates, name)
}

// ClusterType returns the cluster type of that name; nil if there is none.
func (m *Model) ClusterType(name string) *ClusterType {
	return findByName(m.ClusterTypes, name)
}

// IndexOf returns the index of the object of that name in a list that is sorted by name.
func IndexOf[T interface{ ObjectMeta() *Object }](sorted []T, name string) (int, bool) {
	return slices.BinarySearchFunc(sorted, name, func(o T, name string) int { return cmp.Compare(o.ObjectMeta().Name, name) })
}

func findByName[T interface{ ObjectMeta() *Object }](sorted []T, name string) (found T) {
	if i, ok := IndexOf(sorted, name); ok {
		found = sorted[i]
	}
	return found
}

// Parse returns the model of environment env. The built-in layer must be among the layers. With problems that
// stop the environment, the model serves only to find more.
func Parse(env string, layers ...Layer) (*Model, problem.List) {
	return NewParser().Parse(env, layers...)
}

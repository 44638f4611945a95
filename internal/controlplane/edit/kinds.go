// Package edit makes changes of a control plane's files as text: it creates objects, sets and removes
// values of them, and deletes them.
//
// What the package keeps true: all text that is not changed stays as it is, with its layout and
// comments; what cannot be changed that way is refused. Whether a change makes sense is decided by who
// reads the control plane with it.
package edit

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Home is the branch of a control plane on which objects of a kind are written.
type Home int

// The homes of kinds.
const (
	OnBase Home = iota
	OnEnvironment
	OnEither
)

// Kind is a kind of which commands create objects.
type Kind struct {
	Kind   string // "ClusterType"
	Word   string // in commands: "cluster-type"
	About  string // what an object of it is, after "a": one noun phrase
	Home   Home
	Folder string // of a file with a new object, where none of its kind is written yet
	Fields []Field
}

// Field is a value of a new object that a command has a flag for.
type Field struct {
	Flag, Usage string
	Path        yamldoc.Path
	Type        FieldType
	Default     string
	Required    bool
}

// FieldType says how the text of a flag becomes a value.
type FieldType int

// The types of fields.
const (
	Text     FieldType = iota
	Pairs              // KEY=VALUE, several times, as a mapping of texts
	Selector           // a label selector, as kubectl writes it
	Files              // the texts of files, as a list
)

func labels(usage string) Field {
	return Field{Flag: "label", Usage: usage, Path: yamldoc.Path{"metadata", "labels"}, Type: Pairs}
}

// Kinds are the kinds of which commands create objects.
var Kinds = []Kind{
	{"Environment", "environment", "one stage of the fleet, with a branch of its own", OnBase, ".environments", nil},
	{"ClusterType", "cluster-type", "clusters that run the same things", OnEnvironment, "cluster-types", []Field{
		labels("what policies and configs select it by"),
		{Flag: "reconciler", Usage: "the template that applies workloads", Path: yamldoc.Path{"spec", "reconciler"}, Default: "flux"},
		{Flag: "namespace-service", Usage: "the template of a workload's namespace", Path: yamldoc.Path{"spec", "namespaceService"}, Default: "default"},
		{Flag: "config-type", Usage: "the template of platform values", Path: yamldoc.Path{"spec", "configType"}, Default: "configmap"},
	}},
	{"Workload", "workload", "an application, which has deployment targets", OnBase, "workloads", []Field{
		labels("what policies select its targets by"),
	}},
	{"WorkloadRegistration", "registration", "the repository in which a team writes its workloads", OnBase, "workloads", []Field{
		{Flag: "repo", Usage: "the team's repository", Path: yamldoc.Path{"spec", "workload", "repo"}, Required: true},
		{Flag: "branch", Usage: "its branch", Path: yamldoc.Path{"spec", "workload", "branch"}, Default: "main"},
		{Flag: "path", Usage: "the folder with the workloads", Path: yamldoc.Path{"spec", "workload", "path"}, Default: "."},
		{Flag: "workspace", Usage: "the team's space, which becomes a label", Path: yamldoc.Path{"spec", "workspace"}},
	}},
	{"DeploymentTarget", "target", "one place that a team wants its workload", OnBase, "workloads", []Field{
		{Flag: "manifest", Usage: "what the reconciler needs, such as repo, path, and branch or tag", Path: yamldoc.Path{"manifests"}, Type: Pairs},
		{Flag: "label", Usage: "what policies select it by, next to the labels of the workload", Path: yamldoc.Path{"labels"}, Type: Pairs},
	}},
	{"SchedulingPolicy", "policy", "which deployment targets go on which cluster types", OnEnvironment, "scheduling-policies", []Field{
		{Flag: "targets", Usage: "which deployment targets: a label selector", Path: yamldoc.Path{"spec", "deploymentTargetSelector", "labelSelector"}, Type: Selector, Required: true},
		{Flag: "workspace", Usage: "only targets of this workspace", Path: yamldoc.Path{"spec", "deploymentTargetSelector", "workspace"}},
		{Flag: "cluster-types", Usage: "which cluster types: a label selector", Path: yamldoc.Path{"spec", "clusterTypeSelector", "labelSelector"}, Type: Selector, Required: true},
	}},
	{"ConfigMap", "config", "platform values", OnEither, "configs", []Field{
		labels("which assignments get it: labels of cluster types and targets"),
		{Flag: "data", Usage: "a platform value", Path: yamldoc.Path{"data"}, Type: Pairs, Required: true},
	}},
	{"Template", "template", "what files are rendered from", OnBase, "templates", []Field{
		{Flag: "type", Usage: "reconciler, namespace or config", Path: yamldoc.Path{"spec", "type"}, Required: true},
		{Flag: "file", Usage: "a file with one of its manifests", Path: yamldoc.Path{"spec", "manifests"}, Type: Files, Required: true},
	}},
}

// FindKind returns the kind that a word of a command stands for: the word of a row of [Kinds], or the kind
// itself in whatever case, for these and the other kinds that people write.
func FindKind(word string, others []string) (kind string, found bool) {
	plain := strings.ReplaceAll(word, "-", "")
	for _, k := range Kinds {
		if strings.EqualFold(plain, k.Kind) || strings.EqualFold(plain, strings.ReplaceAll(k.Word, "-", "")) {
			return k.Kind, true
		}
	}
	i := slices.IndexFunc(others, func(k string) bool { return strings.EqualFold(plain, k) })
	if i < 0 {
		return "", false
	}
	return others[i], true
}

// KindRow returns the row of a kind; nil if commands create none of it.
func KindRow(kind string) *Kind {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Kind == kind })
	if i < 0 {
		return nil
	}
	return &Kinds[i]
}

// isKalypso reports whether a kind belongs to the group of Kalypso, which shares some names with others.
func isKalypso(kind string) bool {
	return slices.ContainsFunc(model.Kinds, func(k model.KindInfo) bool { return k.Kind == kind })
}

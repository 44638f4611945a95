package edit

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Setting is a value of an object that is set or removed.
type Setting struct {
	Path   string // as a person writes it: "labels.app", "branch"
	Value  string
	Remove bool
}

// ParseSetting parses "PATH=VALUE", and "PATH-", which removes a value.
func ParseSetting(text string) (Setting, error) {
	path, value, ok := strings.Cut(text, "=")
	switch {
	case ok && path != "":
		return Setting{Path: path, Value: value}, nil
	case !ok && len(text) > 1 && strings.HasSuffix(text, "-"):
		return Setting{Path: strings.TrimSuffix(text, "-"), Remove: true}, nil
	}
	return Setting{}, problem.Refusef("PATH=VALUE sets a value, as in labels.size=large, and PATH- removes one", "%s is not a setting", text)
}

// roots are the fields of an object that a path may begin with. Other paths are below its spec, or below the data
// of a ConfigMap.
var roots = []string{"metadata", "spec", "data"}

func (s Setting) resolve(kind string) (path yamldoc.Path, isText bool, err error) {
	path, err = yamldoc.ParsePath(s.Path)
	if err != nil && kind == "ConfigMap" { // a key of data may have dots anywhere
		return yamldoc.Path{"data", s.Path}, true, nil
	}
	if err != nil {
		return nil, false, problem.Refusef("as in labels.size, spec.labels[example.com/size] or spec.list[NAME].branch", "%v", err)
	}
	first := path[0]
	switch {
	case first == "labels" || first == "annotations":
		if kind != "DeploymentTarget" {
			path = append(yamldoc.Path{"metadata"}, path...)
		}
		return joinKey(path), true, nil
	case kind == "DeploymentTarget":
		return path, first == "manifests", nil
	case slices.Contains(roots, first) && len(path) > 1:
		if path.String() == "metadata.name" {
			return nil, false, problem.Refusef("create another object, and delete this one", "an object cannot be renamed")
		}
		return path, first == "data" || first == "metadata", nil
	case first == "apiVersion" || first == "kind":
		return nil, false, problem.Refusef("create another object, and delete this one", "%s of an object cannot be changed", first)
	case kind == "ConfigMap":
		return yamldoc.Path{"data", s.Path}, true, nil
	}
	return append(yamldoc.Path{"spec"}, path...), false, nil
}

// joinKey returns a path in which the steps after labels, or annotations, are one key: it may have dots, and is not nested.
func joinKey(path yamldoc.Path) yamldoc.Path {
	from := slices.IndexFunc(path, func(step string) bool { return step == "labels" || step == "annotations" }) + 1
	if from >= len(path) {
		return path
	}
	return append(slices.Clip(path[:from]), strings.Join(path[from:], "."))
}

// Set returns the file of an object with values of it set, and its text. A DeploymentTarget is named
// "workload/target", and selected by its environment.
func Set(files tree.Tree, kind, name, environment string, settings []Setting) (file string, text []byte, err error) {
	o, below, err := findWritten(files, kind, name, environment)
	if err != nil {
		return "", nil, err
	}
	var edits []yamldoc.TextEdit
	for _, s := range settings {
		path, isText, err := s.resolve(kind)
		if err != nil {
			return "", nil, err
		}
		path = append(slices.Clip(below), path...)
		e := yamldoc.TextEdit{Path: path}
		if !s.Remove {
			e.Value, err = s.newValue(path.Find(o.root), isText)
		}
		if err != nil {
			return "", nil, err
		}
		edits = append(edits, e)
	}
	text, err = o.apply(edits...)
	return o.File, text, err
}

// newValue returns the value of a setting: text if the value before is text, or else what YAML makes of it.
func (s Setting) newValue(before *yaml.Node, isText bool) (*yaml.Node, error) {
	if isText || before != nil && before.Kind == yaml.ScalarNode && before.ShortTag() == "!!str" {
		return textNode(s.Value), nil
	}
	documents, err := yamldoc.Parse([]byte(s.Value))
	if err != nil || len(documents) > 1 {
		return nil, problem.Refusef("put text in quotes", "the value of %s is not YAML: %s", s.Path, s.Value)
	}
	if len(documents) == 0 || yamldoc.RootOf(documents[0]) == nil {
		return textNode(""), nil
	}
	return cloneNode(yamldoc.RootOf(documents[0])), nil
}

// Delete returns the file of an object without it, and its text; nil if the file is to be removed.
func Delete(files tree.Tree, kind, name, environment string) (file string, text []byte, err error) {
	o, below, err := findWritten(files, kind, name, environment)
	if err != nil {
		return "", nil, err
	}
	if below != nil {
		text, err = o.apply(yamldoc.TextEdit{Path: below})
		return o.File, text, err
	}
	text, err = o.Delete()
	return o.File, text, err
}

func findWritten(files tree.Tree, kind, name, environment string) (Object, yamldoc.Path, error) {
	if kind == "DeploymentTarget" && strings.Contains(name, "/") {
		return targetObject(files, name, environment)
	}
	o, err := Find(files, kind, name)
	if err != nil && kind == "DeploymentTarget" {
		return targetObject(files, name, environment)
	}
	return o, nil, err
}

// ListNames returns the names of the objects of a kind in a branch, as commands take them.
func ListNames(files tree.Tree, kind, environment string) []string {
	var names []string
	for _, o := range FindAll(files, kind) {
		names = append(names, o.Name)
	}
	if kind == "DeploymentTarget" {
		for _, o := range FindAll(files, "Workload") {
			for _, t := range o.targets() {
				if environment == "" || yamldoc.FindText(t, "environment") == environment {
					names = append(names, fmt.Sprintf("%s/%s", o.Name, yamldoc.FindText(t, "name")))
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

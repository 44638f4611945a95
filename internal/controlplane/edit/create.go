package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// Values are the texts of the flags of a new object, by the names of [Field.Flag].
type Values map[string][]string

// Create returns the file with a new object of a kind in a branch, and the text of the file. folder is where the
// control plane begins in the branch.
func Create(files tree.Tree, folder string, k *Kind, name string, values Values) (file string, text []byte, err error) {
	for _, o := range FindAll(files, k.Kind) {
		if o.Name == name {
			return "", nil, problem.Refusef(fmt.Sprintf("fairlead set %s/%s changes it", k.Word, name), "%s has a %s %s already", o.File, k.Kind, name)
		}
	}
	file = newFile(files, folder, k, name)
	if _, taken := files.Lookup(file); taken {
		return "", nil, problem.Refusef("write the object by hand, or rename the file", "there is a file %s already", file)
	}
	root, err := k.newObject(name, values)
	if err != nil {
		return "", nil, err
	}
	text, err = yamldoc.Encode(root)
	return file, text, err
}

func (k *Kind) newObject(name string, values Values) (*yaml.Node, error) {
	root := newMapping()
	isConfig, apiVersion := k.Kind == "ConfigMap", model.APIVersion
	if isConfig {
		apiVersion = "v1"
	}
	setPath(root, yamldoc.Path{"apiVersion"}, textNode(apiVersion))
	setPath(root, yamldoc.Path{"kind"}, textNode(k.Kind))
	setPath(root, yamldoc.Path{"metadata", "name"}, textNode(name))
	if isConfig {
		setPath(root, yamldoc.Path{"metadata", "labels", "platform-config"}, textNode("true"))
	}
	for _, f := range k.Fields {
		if err := f.set(root, values[f.Flag]); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func (f Field) set(root *yaml.Node, given []string) error {
	if len(given) == 0 && f.Default != "" {
		given = []string{f.Default}
	}
	switch {
	case len(given) == 0 && f.Required:
		return problem.Refusef(f.Usage, "--%s is missing", f.Flag)
	case len(given) == 0:
		return nil
	case f.Type == Pairs:
		for _, pair := range given {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return problem.Refusef("write KEY=VALUE", "--%s %s has no value", f.Flag, pair)
			}
			setPath(root, append(slices.Clip(f.Path), key), textNode(value))
		}
		return nil
	case f.Type == Selector:
		s, ok := model.ParseSelector(given[0])
		if !ok {
			return problem.Refusef("as in size=small,region!=eu,edge,!old,zone in (a,b); everything selects everything", "--%s %s cannot be read", f.Flag, given[0])
		}
		setPath(root, f.Path, selectorNode(s))
		return nil
	case f.Type == Files:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, text := range given {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.LiteralStyle})
		}
		setPath(root, f.Path, list)
		return nil
	}
	setPath(root, f.Path, textNode(given[0]))
	return nil
}

func selectorNode(s model.Selector) *yaml.Node {
	n := newMapping()
	var expressions []*yaml.Node
	for _, r := range s.Requirements {
		if r.Operator == model.In && len(r.Values) == 1 {
			setPath(n, yamldoc.Path{"matchLabels", r.Key}, textNode(r.Values[0]))
			continue
		}
		e := newMapping()
		setPath(e, yamldoc.Path{"key"}, textNode(r.Key))
		setPath(e, yamldoc.Path{"operator"}, textNode(string(r.Operator)))
		if len(r.Values) > 0 {
			values := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, v := range r.Values {
				values.Content = append(values.Content, textNode(v))
			}
			setPath(e, yamldoc.Path{"values"}, values)
		}
		expressions = append(expressions, e)
	}
	if expressions != nil {
		setPath(n, yamldoc.Path{"matchExpressions"}, &yaml.Node{Kind: yaml.SequenceNode, Content: expressions})
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

func newMapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// textNode returns a text, in quotes if it would be read as something else.
func textNode(text string) *yaml.Node {
	var n yaml.Node
	n.SetString(text)
	return &n
}

func setPath(root *yaml.Node, path yamldoc.Path, value *yaml.Node) {
	for _, key := range path[:len(path)-1] {
		_, below := yamldoc.FindPair(root, key)
		if below == nil {
			below = newMapping()
			yamldoc.AddPair(root, key, below)
		}
		root = below
	}
	yamldoc.RemoveKey(root, path[len(path)-1])
	yamldoc.AddPair(root, path[len(path)-1], value)
}

// NewTarget is a deployment target to be written.
type NewTarget struct {
	Workload, Name, Environment string
	From                        string // an environment in which the workload has a target of this name to copy; "" for none
	Values                      Values
}

// CreateTarget returns the file of a workload with a deployment target more, and its text.
func CreateTarget(files tree.Tree, t NewTarget) (file string, text []byte, err error) {
	o, err := Find(files, "Workload", t.Workload)
	if err != nil {
		return "", nil, err
	}
	if i := o.findTarget(t.Name, t.Environment); i >= 0 {
		return "", nil, problem.Refusef(fmt.Sprintf("fairlead set target/%s/%s -e %s changes it", t.Workload, t.Name, t.Environment), "%s has a deployment target %s in %s already", o.File, t.Name, t.Environment)
	}
	item := newMapping()
	setPath(item, yamldoc.Path{"name"}, textNode(t.Name))
	after := ""
	if t.From != "" {
		i := o.findTarget(t.Name, t.From)
		if i < 0 {
			return "", nil, problem.Refusef("name an environment in which it is with --from", "the workload %s has no deployment target %s in %s", t.Workload, t.Name, t.From)
		}
		item, after = o.targets()[i], fmt.Sprint(i)
	}
	row := KindRow("DeploymentTarget")
	item = cloneNode(item)
	if _, written := yamldoc.FindPair(item, "environment"); written != nil {
		written.SetString(t.Environment)
	} else {
		setPath(item, yamldoc.Path{"environment"}, textNode(t.Environment))
	}
	for _, f := range row.Fields {
		if err := f.set(item, t.Values[f.Flag]); err != nil {
			return "", nil, err
		}
	}
	if _, manifests := yamldoc.FindPair(item, "manifests"); manifests == nil {
		return "", nil, problem.Refusef("as in --manifest repo=URL --manifest branch=main --manifest path=./deploy; --from ENVIRONMENT copies those of another environment", "--manifest is missing")
	}
	text, err = o.apply(yamldoc.TextEdit{Path: yamldoc.Path{"spec", "deploymentTargets"}, Insert: true, After: after, Value: item})
	return o.File, text, err
}

func (o Object) targets() []*yaml.Node {
	list := yamldoc.FindValue(o.root, "spec", "deploymentTargets")
	if list == nil {
		return nil
	}
	return list.Content
}

// findTarget returns the index of a deployment target of a Workload; -1 if it has none. Without an environment
// there must be one of the name only.
func (o Object) findTarget(name, environment string) int {
	found := -1
	for i, t := range o.targets() {
		if yamldoc.FindText(t, "name") != name || environment != "" && yamldoc.FindText(t, "environment") != environment {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// cloneNode returns a copy of a node and of what is in it, without positions and the comment before it.
func cloneNode(n *yaml.Node) *yaml.Node {
	c := *n
	c.Line, c.Column, c.Content = 0, 0, nil
	for _, child := range n.Content {
		c.Content = append(c.Content, cloneNode(child))
	}
	return &c
}

func targetObject(files tree.Tree, name, environment string) (Object, yamldoc.Path, error) {
	workload, target, ok := strings.Cut(name, "/")
	if !ok {
		return Object{}, nil, problem.Refusef("as in target/checkout/api", "a deployment target is named with its workload, as WORKLOAD/TARGET")
	}
	o, err := Find(files, "Workload", workload)
	if err != nil {
		return o, nil, err
	}
	i := o.findTarget(target, environment)
	if i < 0 {
		return o, nil, problem.Refusef("-e names the environment of the target, where there are several", "the workload %s has no deployment target %s%s", workload, target, cmp.Or(prefixed(" in ", environment), ", or more than one"))
	}
	return o, yamldoc.Path{"spec", "deploymentTargets", fmt.Sprint(i)}, nil
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

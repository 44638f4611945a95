package model

import (
	"cmp"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// BlueprintAnnotation names the blueprint of a stack or an InputManifest: the object of its kind in the
// base that it is merged over. Without the annotation, that is the object of its own name, if there is one.
const BlueprintAnnotation = OwnGroup + "/blueprint"

// ActiveAnnotation is on a blueprint that an environment takes twice, and names the stack that is active: whoever reads
// outputs of the blueprint reads those of that stack.
const ActiveAnnotation = OwnGroup + "/active"

func blueprintName(o *Object) string { return cmp.Or(o.Annotations[BlueprintAnnotation], o.Name) }

func addUnknownBlueprint(o *Object, known []string, problems *problem.List) {
	problems.Addf(o.Pos, o.Subject(), cmp.Or(problem.DidYouMean(o.Annotations[BlueprintAnnotation], known), "write it in the base, or remove the annotation "+BlueprintAnnotation),
		"the base has no %s %s, which the annotation %s names", o.Kind, o.Annotations[BlueprintAnnotation], BlueprintAnnotation)
}

// Blueprint is the stack of the base that a stack of an environment is merged over.
type Blueprint struct {
	Name string
	Pos  problem.Pos
}

// stackBlueprint is a stack in the base. It is rendered nowhere by itself.
type stackBlueprint struct {
	Object
	namespace string
	decoded   StackSpec
	// spec has the complements of line numbers, which are negative: so a line tells which of the two files
	// of a composed stack it is in.
	spec *yaml.Node
	// problems stop the stacks that take the blueprint.
	problems problem.List
}

var environmentFields = []struct{ name, why string }{
	{"teamName", "with envName, it names the state: environments would share it"},
	{"envName", "it names the state: environments would share it"},
	{"teardown", "each environment says for itself that its stack is destroyed"},
}

func (r *reader) readBlueprint(n *yaml.Node, h header, d *decoder) *stackBlueprint {
	own := *d
	b := &stackBlueprint{}
	own.problems, own.missing = &b.problems, &problem.List{}
	if !slices.Contains(stackAPIVersions, h.apiVersion) {
		addVersionProblem(n, h, &own)
	}
	if h.kind != "Environment" {
		addKindProblem(n, h, &own)
	}
	o, decoded, meta := readObject[StackSpec](r, n, "Environment", &own)
	b.Object, b.decoded, b.namespace = o, decoded, meta.Namespace
	_, spec := yamldoc.LookUpPair(n, "spec")
	for _, field := range environmentFields {
		if key, _ := yamldoc.LookUpPair(spec, field.name); key != nil {
			own.addProblem(key, "write it on the branch of each environment that takes the blueprint", "a stack in the base is a blueprint, which cannot have spec.%s: %s", field.name, field.why)
		}
	}
	b.spec = own.unfoldedSpec(n)
	complementLines(b.spec)
	return b
}

// expandSpec returns a copy of the spec of an object without aliases; an empty mapping if it cannot be had.
func (d *decoder) expandSpec(n *yaml.Node) *yaml.Node {
	_, spec := yamldoc.LookUpPair(n, "spec")
	if spec == nil || d.budget < 0 || yamldoc.ResolveAlias(spec).Kind != yaml.MappingNode {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line}
	}
	return (&decoder{problems: &problem.List{}, root: n, budget: nodeBudget}).copyNode(spec)
}

// unfoldedSpec returns such a copy with folded texts as Flux delivers them.
func (d *decoder) unfoldedSpec(n *yaml.Node) *yaml.Node {
	spec := d.expandSpec(n)
	if d.folded {
		unfold(spec)
	}
	return spec
}

// unfold replaces folded texts by what Flux makes of them. What it cannot deliver was reported.
func unfold(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style&yaml.FoldedStyle != 0 {
		if text, err := kustomize.FoldedText(n.Value); err == nil {
			n.Value, n.Style = text, yaml.LiteralStyle
		}
	}
	for _, inner := range n.Content {
		unfold(inner)
	}
}

func complementLines(n *yaml.Node) {
	n.Line = ^n.Line
	for _, inner := range n.Content {
		complementLines(inner)
	}
}

// takeBlueprints returns stacks of which each is merged over its blueprint, if it has one. It reports what is
// missing then, and what is wrong with blueprints.
func (s *Stacks) takeBlueprints(written []*stackBlueprint, all *content) []*Stack {
	blueprints := uniqueByName(written, &all.problems, func(b *stackBlueprint) *Object { return &b.Object })
	var names []string
	for _, b := range blueprints {
		names = append(names, b.Name)
		s.Blueprints = append(s.Blueprints, &Stack{Object: b.Object, Namespace: b.namespace, StackSpec: b.decoded})
	}
	stacks, taken := make([]*Stack, len(s.List)), map[string]bool{}
	for i, o := range s.List {
		found := o.missing
		if at, ok := IndexOf(blueprints, blueprintName(&o.Object)); ok {
			taken[blueprints[at].Name] = true
			o, found = o.over(blueprints[at])
		} else if o.Annotations[BlueprintAnnotation] != "" {
			found = nil
			addUnknownBlueprint(&o.Object, names, &found)
		}
		stacks[i] = o
		if found.Stops() && !o.Stopped {
			stopped := *o
			stopped.Stopped, stacks[i] = true, &stopped
		}
		all.problems = append(all.problems, found.StoppingStack(o.stops())...)
	}
	for _, b := range blueprints {
		if !taken[b.Name] {
			all.countIgnored(stackAPIVersions[0]+" Environment", 1)
			all.problems = append(all.problems, b.problems.StoppingStack("blueprint "+b.Name)...)
		}
	}
	return stacks
}

func (s *Stack) over(b *stackBlueprint) (*Stack, problem.List) {
	merged := *s
	merged.Blueprint, merged.Namespace = &Blueprint{b.Name, b.Pos}, cmp.Or(s.Namespace, b.namespace)
	spec := mergeNodes(b.spec, s.spec)
	dropReplacedValues(spec)
	merged.StackSpec = StackSpec{}
	var missing problem.List
	d := &decoder{subject: s.Subject(), problems: &problem.List{}, missing: &missing, root: spec, budget: nodeBudget, foreign: true}
	d.decodeValue(spec, reflect.ValueOf(&merged.StackSpec).Elem(), "spec")
	for i := range missing {
		missing[i].Pos = merged.PositionAt(missing[i].Pos.Line)
	}
	return &merged, append(slices.Clone(b.problems), missing...)
}

// dropReplacedValues removes the value or the valueFrom of a blueprint's variable that an environment
// gives the other one.
func dropReplacedValues(spec *yaml.Node) {
	for _, component := range itemsOf(spec, "components") {
		for _, v := range itemsOf(component, "variables") {
			key, _ := yamldoc.FindPair(v, "value")
			from, _ := yamldoc.FindPair(v, "valueFrom")
			switch {
			case key == nil || from == nil || (key.Line < 0) == (from.Line < 0):
			case key.Line < 0:
				yamldoc.RemoveKey(v, "value")
			default:
				yamldoc.RemoveKey(v, "valueFrom")
			}
		}
	}
}

func itemsOf(n *yaml.Node, key string) []*yaml.Node {
	value := yamldoc.FindValue(n, key)
	if value == nil || value.Kind != yaml.SequenceNode {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(value.Content), func(item *yaml.Node) bool { return item.Kind != yaml.MappingNode })
}

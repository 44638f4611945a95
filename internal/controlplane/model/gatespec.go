package model

import (
	"fmt"
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// GateSpec is a gate as it is written: its kind, and the parameters of the kind.
type GateSpec struct {
	Kind string
	Name string // "" if it has none
	Pos  problem.Pos

	subject string
	node    *yaml.Node
}

// decodeGates reads a list of gates: each is the name of a kind without parameters, or a
// mapping of the kind to its parameters, optionally with a name.
func (d *decoder) decodeGates(nodes []yaml.Node) []GateSpec {
	var all []GateSpec
	for i := range nodes {
		n := yamldoc.ResolveAlias(&nodes[i])
		g := GateSpec{Pos: d.positionOf(n), subject: d.subject, node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}}
		if n.Kind != yaml.MappingNode {
			g.Kind = d.decodeText(n, "a gate", false)
			all = append(all, g)
			continue
		}
		for key, value := range d.uniquePairs(n) {
			switch {
			case key.Value == "name":
				g.Name = d.decodeText(value, "name", false)
			case g.Kind != "":
				d.addProblem(key, "begin the next gate with \"- \" on a line of its own", "this gate is a %s already, and a gate has one kind", g.Kind)
			default:
				g.Kind, g.node = key.Value, value
			}
		}
		if g.Kind == "" {
			d.addProblem(n, "", "this gate has no kind; write one, as in soak: 30m")
			continue
		}
		all = append(all, g)
	}
	return all
}

// NewGateSpec returns a gate without a name and without parameters.
func NewGateSpec(kind string, pos problem.Pos) GateSpec {
	return GateSpec{Kind: kind, Pos: pos, node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: pos.Line}}
}

// IsScalar reports whether the parameters of the gate are one text: "soak: 30m".
func (g GateSpec) IsScalar() bool { return g.node.Kind == yaml.ScalarNode && !yamldoc.IsNull(g.node) }

// Decode reads the parameters of the gate strictly into a struct with `yaml` and `required`
// tags, or a text or duration. Absent parameters leave it unchanged.
func (g GateSpec) Decode(into any) problem.List {
	var problems problem.List
	d := &decoder{layer: g.Pos.Layer, file: g.Pos.File, subject: g.subject, problems: &problems, root: g.node, budget: nodeBudget}
	v := reflect.ValueOf(into).Elem()
	if v.Kind() == reflect.Struct && yamldoc.IsNull(yamldoc.ResolveAlias(g.node)) {
		d.decodeStruct(&yaml.Node{Kind: yaml.MappingNode, Line: g.node.Line}, v, g.Kind)
		return problems
	}
	d.decodeValue(g.node, v, g.Kind)
	return problems
}

// Problem returns a problem at the gate.
func (g GateSpec) Problem(hint, format string, args ...any) problem.Problem {
	return problem.Problem{Pos: g.Pos, Subject: g.subject, Hint: hint, Summary: fmt.Sprintf(format, args...)}
}

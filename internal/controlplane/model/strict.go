package model

import (
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// DecodeStrictly fills the struct that into points to from a node of a file, as the objects of a control
// plane are read: unknown fields, keys that are given twice and values of other types are problems. The
// node is one whose aliases do not contain themselves.
func DecodeStrictly(n *yaml.Node, pos problem.Pos, subject string, into any) problem.List {
	var problems problem.List
	d := &decoder{layer: pos.Layer, file: pos.File, subject: subject, problems: &problems, root: n, budget: nodeBudget, foreign: true}
	d.decodeValue(n, reflect.ValueOf(into).Elem(), "")
	return problems
}

// ExpandNode returns a copy of a node without aliases, merge keys and keys that are given twice.
func ExpandNode(n *yaml.Node) *yaml.Node {
	return (&decoder{problems: &problem.List{}, root: n, budget: nodeBudget}).copyNode(n)
}

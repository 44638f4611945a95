package render

import (
	"slices"
	"text/template"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// fields is a set of the fields of Data.
type fields uint16

const everything fields = 1<<16 - 1

var fieldBit = func() map[string]fields {
	bits := map[string]fields{}
	for i, name := range fieldNames {
		bits[name] = 1 << i
	}
	return bits
}()

func fieldSet(names ...string) (set fields) {
	for _, n := range names {
		set |= fieldBit[n]
	}
	return set
}

// The fields that assignments share by cluster type, target or values; see Scope.
var (
	ofClusterType = fieldSet("Environment", "ClusterType")
	ofTarget      = fieldSet("Environment", "DeploymentTargetName", "Workspace", "Workload", "Labels", "Manifests")
	ofValues      = fieldSet("Environment", "ConfigData")
)

// analysis is what a piece of a template does with its data: which fields it reads, and
// whether it changes any. In doubt, it reports a field as read.
type analysis struct {
	set       *template.Template // where {{template}} finds its names
	reads     fields
	mutates   bool
	decodes   bool // it calls one of the decoders
	whole     bool // it uses "." itself, not only its fields
	dependsOn bool // it names the field DependsOn
	visited   map[string]bool
}

func analyse(set *template.Template, n parse.Node) *analysis {
	a := &analysis{set: set, visited: map[string]bool{}}
	a.node(n, true)
	return a
}

// node visits a node; root means that "." is still the whole Data there.
func (a *analysis) node(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, item := range n.Nodes {
			a.node(item, root)
		}
	case *parse.ActionNode:
		a.pipe(n.Pipe, root)
	case *parse.IfNode:
		a.branch(&n.BranchNode, root, root)
	case *parse.RangeNode:
		a.branch(&n.BranchNode, root, false)
	case *parse.WithNode:
		a.branch(&n.BranchNode, root, false)
	case *parse.TemplateNode:
		a.pipe(n.Pipe, root)
		a.named(n.Name)
	default:
		a.operand(n, root)
	}
}

// branch visits an if, range or with; inside means that "." is still the whole Data
// in its list. If it is not, the pipeline has read what "." is.
func (a *analysis) branch(n *parse.BranchNode, root, inside bool) {
	a.pipe(n.Pipe, root)
	a.node(n.List, inside)
	if n.ElseList != nil {
		a.node(n.ElseList, root)
	}
}

// named visits a defined template. The caller's pipeline has read what "." is there;
// "$" is the same as outside.
func (a *analysis) named(name string) {
	if a.visited[name] {
		return
	}
	a.visited[name] = true
	if t := a.set.Lookup(name); t != nil && t.Tree != nil {
		a.node(t.Root, false)
	}
}

func (a *analysis) pipe(p *parse.PipeNode, root bool) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for _, arg := range c.Args {
			a.operand(arg, root)
		}
	}
}

func (a *analysis) operand(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.DotNode:
		if root {
			a.reads |= everything
			a.whole = true
		}
	case *parse.FieldNode:
		a.names(n.Ident)
		if root {
			a.reads |= fieldBit[n.Ident[0]]
		}
	case *parse.VariableNode:
		a.names(n.Ident[1:])
		if n.Ident[0] == "$" {
			a.variable(n)
		}
	case *parse.ChainNode:
		a.names(n.Field)
		a.operand(n.Node, root)
	case *parse.PipeNode:
		a.pipe(n, root)
	case *parse.IdentifierNode:
		a.mutates = a.mutates || templatefunc.Mutates(n.Ident)
		a.decodes = a.decodes || slices.Contains(decoders, n.Ident)
	}
}

// variable records what "$" reads: a field, or all of the Data.
func (a *analysis) variable(n *parse.VariableNode) {
	if len(n.Ident) > 1 {
		a.reads |= fieldBit[n.Ident[1]]
		return
	}
	a.reads |= everything
	a.whole = true
}

// names records the names of fields that are read from any value, which may be the Data.
func (a *analysis) names(fields []string) {
	a.dependsOn = a.dependsOn || slices.Contains(fields, "DependsOn")
}

package render

import (
	"slices"
	"text/template"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

type fields uint16

const allFields fields = 1<<16 - 1

var fieldBits = func() map[string]fields {
	bits := map[string]fields{}
	for i, name := range fieldNames {
		bits[name] = 1 << i
	}
	return bits
}()

func fieldSet(names ...string) (set fields) {
	for _, n := range names {
		set |= fieldBits[n]
	}
	return set
}

// The fields of data that assignments share; see Scope.
var (
	clusterTypeFields = fieldSet("Environment", "ClusterType")
	targetFields      = fieldSet("Environment", "DeploymentTargetName", "Workspace", "Workload", "Labels", "Manifests", "Release", "Versions", "Images")
	valueFields       = fieldSet("Environment", "ConfigData")
)

// analysis is how a piece of a template uses its data. In doubt, a field counts as
// read.
type analysis struct {
	set       *template.Template // resolves {{template}}
	reads     fields
	mutates   bool
	decodes   bool // calls one of the decoders
	whole     bool // uses "." itself
	dependsOn bool // names the field DependsOn
	visited   map[string]bool
}

func analyseTemplate(set *template.Template, n parse.Node) *analysis {
	a := &analysis{set: set, visited: map[string]bool{}}
	a.visitNode(n, true)
	return a
}

func (a *analysis) visitNode(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, item := range n.Nodes {
			a.visitNode(item, root)
		}
	case *parse.ActionNode:
		a.visitPipe(n.Pipe, root)
	case *parse.IfNode:
		a.visitBranch(&n.BranchNode, root, root)
	case *parse.RangeNode:
		a.visitBranch(&n.BranchNode, root, false)
	case *parse.WithNode:
		a.visitBranch(&n.BranchNode, root, false)
	case *parse.TemplateNode:
		a.visitPipe(n.Pipe, root)
		// The pipeline has read the template's "."; "$" does not change.
		t := a.set.Lookup(n.Name)
		if !a.visited[n.Name] && t != nil && t.Tree != nil {
			a.visited[n.Name] = true
			a.visitNode(t.Root, false)
		}
	default:
		a.visitOperand(n, root)
	}
}

// visitBranch visits an if, range or with. inside means that "." is the whole Data in
// its list; if not, the pipeline has read it.
func (a *analysis) visitBranch(n *parse.BranchNode, root, inside bool) {
	a.visitPipe(n.Pipe, root)
	a.visitNode(n.List, inside)
	a.visitNode(n.ElseList, root)
}

func (a *analysis) visitPipe(p *parse.PipeNode, root bool) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for _, arg := range c.Args {
			a.visitOperand(arg, root)
		}
	}
}

func (a *analysis) visitOperand(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.DotNode:
		if root {
			a.reads |= allFields
			a.whole = true
		}
	case *parse.FieldNode:
		a.noteFields(n.Ident)
		if root {
			a.reads |= fieldBits[n.Ident[0]]
		}
	case *parse.VariableNode:
		a.noteFields(n.Ident[1:])
		switch {
		case n.Ident[0] != "$":
		case len(n.Ident) > 1:
			a.reads |= fieldBits[n.Ident[1]]
		default:
			a.reads |= allFields
			a.whole = true
		}
	case *parse.ChainNode:
		a.noteFields(n.Field)
		a.visitOperand(n.Node, root)
	case *parse.PipeNode:
		a.visitPipe(n, root)
	case *parse.IdentifierNode:
		a.mutates = a.mutates || templatefunc.Mutates(n.Ident)
		a.decodes = a.decodes || slices.Contains(decoders, n.Ident)
	}
}

// noteFields records fields of any value, which may be the Data.
func (a *analysis) noteFields(fields []string) {
	a.dependsOn = a.dependsOn || slices.Contains(fields, "DependsOn")
}

package render

import (
	"regexp"
	"slices"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

type meteredFunctions struct {
	meter     templatefunc.Meter
	functions template.FuncMap
}

func newMeteredFunctions() *meteredFunctions {
	m := &meteredFunctions{}
	m.functions = templatefunc.Map(&m.meter)
	m.functions["typeOf"] = typeOf
	m.functions[weighName] = m.meter.Weigh
	return m
}

var functionPool = sync.Pool{New: func() any { return newMeteredFunctions() }}

// parseFunctions are never called.
var parseFunctions = newMeteredFunctions().functions

// templateSet is a template with its definitions. Each expansion uses a pooled copy
// that counts its own steps.
type templateSet struct {
	parsed *template.Template
	copies sync.Pool
}

type templateCopy struct {
	functions *meteredFunctions
	set       *template.Template
}

func (s *templateSet) takeCopy() (*templateCopy, error) {
	if b, ok := s.copies.Get().(*templateCopy); ok {
		return b, nil
	}
	set, err := s.parsed.Clone()
	if err != nil {
		return nil, err
	}
	m := newMeteredFunctions()
	return &templateCopy{m, set.Funcs(m.functions)}, nil
}

// weighName is the function that counts what functions of text/template read. It
// returns its argument.
const weighName = "fairleadWeigh"

// comparisons are the functions of text/template that read whole arguments.
var comparisons = []string{"eq", "ne", "lt", "le", "gt", "ge", "index"}

func weighPipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	cmds := make([]*parse.CommandNode, 0, len(p.Cmds))
	for i, c := range p.Cmds {
		for _, arg := range c.Args {
			if inner, ok := arg.(*parse.PipeNode); ok {
				weighPipe(inner)
			}
		}
		if name, ok := c.Args[0].(*parse.IdentifierNode); ok && slices.Contains(comparisons, name.Ident) {
			first := 1
			if name.Ident == "index" {
				first = 2 // the keys
			}
			for k := first; k < len(c.Args); k++ {
				c.Args[k] = weighArgument(p, c, c.Args[k])
			}
			if i > 0 {
				cmds = append(cmds, weighCall(c))
			}
		}
		cmds = append(cmds, c)
	}
	p.Cmds = cmds
}

// unweighed matches what weighPipe inserted.
var unweighed = regexp.MustCompile(`\(` + weighName + ` ([^()]*(?:\([^()]*\)[^()]*)*)\)|` + weighName + ` \| `)

func weighCall(at *parse.CommandNode, args ...parse.Node) *parse.CommandNode {
	name := *at.Args[0].(*parse.IdentifierNode)
	name.Ident = weighName
	call := *at // including its unexported text reference
	call.Args = append([]parse.Node{&name}, args...)
	return &call
}

func weighArgument(p *parse.PipeNode, c *parse.CommandNode, arg parse.Node) parse.Node {
	switch arg.(type) {
	case *parse.NumberNode, *parse.BoolNode, *parse.StringNode, *parse.NilNode, *parse.DotNode:
		return arg // short, or as long as the template
	}
	inner := *p
	inner.Decl, inner.Cmds = nil, []*parse.CommandNode{weighCall(c, arg)}
	return &inner
}

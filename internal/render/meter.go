package render

import (
	"regexp"
	"slices"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// meteredFunctions holds the functions of templates, and the meter that counts their work.
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

// functionPool pools the functions that are not in use.
var functionPool = sync.Pool{New: func() any { return newMeteredFunctions() }}

// parseFunctions only serve to parse templates; they are never called.
var parseFunctions = newMeteredFunctions().functions

// templateSet is a template with all that it defines. Each expansion runs on a copy that
// counts its own steps; copies are pooled.
type templateSet struct {
	parsed *template.Template
	copies sync.Pool
}

// templateCopy is a copy of a set, with its own functions.
type templateCopy struct {
	functions *meteredFunctions
	set       *template.Template
}

// takeCopy returns a copy that is not in use. The caller puts it back.
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

// weighName is the name of the function that counts what functions of text/template read. It
// returns its argument, also to a template that calls it by name.
const weighName = "fairleadWeigh"

// comparisons are the functions of text/template that read their arguments whole.
var comparisons = []string{"eq", "ne", "lt", "le", "gt", "ge", "index"}

// weighPipe rewrites a pipeline so that the texts that it compares are counted.
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

// unweighed matches what weighIn has put into a pipeline.
var unweighed = regexp.MustCompile(`\(` + weighName + ` ([^()]*(?:\([^()]*\)[^()]*)*)\)|` + weighName + ` \| `)

// weighCall returns a call of weigh, with the position of another command.
func weighCall(at *parse.CommandNode, args ...parse.Node) *parse.CommandNode {
	name := *at.Args[0].(*parse.IdentifierNode)
	name.Ident = weighName
	call := *at // with the reference to its text, which is not exported
	call.Args = append([]parse.Node{&name}, args...)
	return &call
}

// weighArgument wraps an argument of a pipeline's command in a call of weigh.
func weighArgument(p *parse.PipeNode, c *parse.CommandNode, arg parse.Node) parse.Node {
	switch arg.(type) {
	case *parse.NumberNode, *parse.BoolNode, *parse.StringNode, *parse.NilNode, *parse.DotNode:
		return arg // short, or as long as the template
	}
	inner := *p
	inner.Decl, inner.Cmds = nil, []*parse.CommandNode{weighCall(c, arg)}
	return &inner
}

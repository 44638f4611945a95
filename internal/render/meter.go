package render

import (
	"regexp"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// metered are the functions of templates with the meter that counts their work.
type metered struct {
	templatefunc.Meter
	functions template.FuncMap
}

func newMetered() *metered {
	m := &metered{}
	m.functions = templatefunc.Map(&m.Meter)
	m.functions["typeOf"] = typeOf
	m.functions[weigh] = m.Weigh
	return m
}

// meters are those that nobody uses.
var meters = sync.Pool{New: func() any { return newMetered() }}

// functions are those that templates are parsed with; they are not called.
var functions = newMetered().functions

// templateSet is a template with all that it defines. Each expansion has a copy of it that
// counts its own steps; copies are used again.
type templateSet struct {
	parsed *template.Template
	copies sync.Pool
}

// boundSet is a copy of a set.
type boundSet struct {
	*metered
	set *template.Template
}

// take returns a copy that nobody uses, to be put back.
func (s *templateSet) take() (*boundSet, error) {
	if b, ok := s.copies.Get().(*boundSet); ok {
		return b, nil
	}
	set, err := s.parsed.Clone()
	if err != nil {
		return nil, err
	}
	m := newMetered()
	return &boundSet{m, set.Funcs(m.functions)}, nil
}

// weigh is the name of the function that counts what functions of text/template read. It gives
// back what it is given, also to a template that names it.
const weigh = "fairleadWeigh"

// compares are the functions of text/template that read texts as long as they are.
func compares(name string) bool {
	switch name {
	case "eq", "ne", "lt", "le", "gt", "ge", "index":
		return true
	}
	return false
}

// weighIn has the texts that a pipeline compares counted.
func weighIn(p *parse.PipeNode) {
	if p == nil {
		return
	}
	cmds := make([]*parse.CommandNode, 0, len(p.Cmds))
	for i, c := range p.Cmds {
		for _, arg := range c.Args {
			if inner, ok := arg.(*parse.PipeNode); ok {
				weighIn(inner)
			}
		}
		if name, ok := c.Args[0].(*parse.IdentifierNode); ok && compares(name.Ident) {
			first := 1
			if name.Ident == "index" {
				first = 2 // the keys
			}
			for k := first; k < len(c.Args); k++ {
				c.Args[k] = weighed(p, c, c.Args[k])
			}
			if i > 0 {
				cmds = append(cmds, weighing(c))
			}
		}
		cmds = append(cmds, c)
	}
	p.Cmds = cmds
}

// unweighed finds what weighIn has put into a pipeline.
var unweighed = regexp.MustCompile(`\(` + weigh + ` ([^()]*(?:\([^()]*\)[^()]*)*)\)|` + weigh + ` \| `)

// weighing returns a call of weigh, which is at the place of another command.
func weighing(at *parse.CommandNode, args ...parse.Node) *parse.CommandNode {
	name := *at.Args[0].(*parse.IdentifierNode)
	name.Ident = weigh
	call := *at // it knows the text that it is of
	call.Args = append([]parse.Node{&name}, args...)
	return &call
}

// weighed returns an argument of a command of a pipeline, which is weighed.
func weighed(p *parse.PipeNode, c *parse.CommandNode, arg parse.Node) parse.Node {
	switch arg.(type) {
	case *parse.NumberNode, *parse.BoolNode, *parse.StringNode, *parse.NilNode, *parse.DotNode:
		return arg // short, or as long as the template
	}
	inner := *p
	inner.Decl, inner.Cmds = nil, []*parse.CommandNode{weighing(c, arg)}
	return &inner
}

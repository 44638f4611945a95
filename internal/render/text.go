package render

import (
	"bytes"
	"fmt"
	"slices"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// textEngine expands manifests with text/template.
type textEngine struct {
	options    Options
	manifests  []textManifest
	blocks     int
	reads      fields
	expansions int
	ofValues   texts // of blocks that read values only
}

type textManifest struct {
	parts   []part
	mutates bool // it may change the data
	decodes bool // it calls one of the decoders
}

// ownName is the name that a manifest is parsed under. No {{define}} uses it, so that the
// Template "c" may define "c".
const ownName = "·manifest"

func newTextEngine(t *model.Template, o Options) (Engine, []Mistake) {
	e := &textEngine{options: o, expansions: t.Expansions}
	var mistakes []Mistake
	for i, m := range t.Manifests {
		parsed, err := template.New(ownName).Funcs(functions).Parse(m.Text)
		if err != nil {
			mistake := mistakeOf(err, 1).within(m.Text)
			mistake.Manifest = i
			mistakes = append(mistakes, *mistake)
			e.manifests = append(e.manifests, textManifest{}) // go on: the others may have mistakes too
			continue
		}
		e.manifests = append(e.manifests, e.compile(parsed, m.Text))
	}
	return e, mistakes
}

func (e *textEngine) compile(t *template.Template, text string) textManifest {
	if t.Tree == nil || t.Root == nil { // nothing but {{define}}
		return textManifest{}
	}
	a := analyse(t, t.Root)
	countSteps(t)
	set := &templateSet{parsed: t}
	e.reads |= a.reads
	m := textManifest{mutates: a.mutates, decodes: a.decodes}
	if a.mutates {
		whole := blockOf(set, t.Root.Nodes, text)
		whole.block.uses.reads = everything
		m.parts = []part{whole}
	} else {
		m.parts = cut(set, text)
	}
	for _, p := range m.parts {
		if p.block != nil {
			p.block.index = e.blocks
			e.blocks++
		}
	}
	return m
}

// Reads implements Engine.
func (e *textEngine) Reads(field string) bool { return e.reads&fieldBit[field] != 0 }

// Expand implements Engine.
func (e *textEngine) Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake) {
	start := len(dst)
	var mistakes []Mistake
	for i := range e.manifests {
		body := len(dst)
		text, mistake := e.manifest(p, i, dst, d, s, shape)
		if mistake != nil {
			mistake.Manifest = i
			mistakes = append(mistakes, *mistake)
			continue
		}
		dst = join(text, start, body)
		if len(dst)-start > maxOutput {
			return dst[:start], []Mistake{tooLong(i)}
		}
	}
	d.settle()
	if mistakes != nil {
		return dst[:start], mistakes
	}
	return dst, nil
}

// texts returns the text of each manifest, for engines that build on them.
func (e *textEngine) texts(p *Pass, d *Data, s Scope) ([][]byte, []Mistake) {
	var out [][]byte
	var mistakes []Mistake
	for i := range e.manifests {
		text, mistake := e.manifest(p, i, nil, d, s, nil)
		if mistake != nil {
			mistake.Manifest = i
			mistakes = append(mistakes, *mistake)
		}
		out = append(out, text)
	}
	d.settle()
	return out, mistakes
}

// manifest appends the text of one manifest to dst. After a mistake it undoes all changes
// of the data: half a change may leave them inconsistent.
func (e *textEngine) manifest(p *Pass, i int, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, *Mistake) {
	var masked *twin
	if e.manifests[i].mutates {
		masked = e.newTwin(i, d, s)
		d.detach()
	}
	text, mistake := e.expandManifest(p, i, dst, d, s, shape)
	if mistake == nil && bytes.Contains(text[len(dst):], opening) {
		shape.forget()
		if masked == nil {
			masked = e.newTwin(i, d, s)
		}
		text, mistake = e.again(p, i, dst, slices.Clone(text[len(dst):]), d, masked)
	}
	if mistake != nil {
		d.restore()
	}
	return text, mistake
}

func (e *textEngine) expandManifest(p *Pass, i int, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, *Mistake) {
	for _, part := range e.manifests[i].parts {
		switch {
		case part.literal != nil:
			dst = append(dst, part.literal...)
		case part.field != nil:
			var ok bool
			begin := len(dst)
			dst, ok = part.field.expand(dst, d, e.options)
			if !ok {
				return nil, &Mistake{Line: part.field.line, Hint: missingHint, Summary: part.field.name + " has no value"}
			}
			shape.field(part.field, dst[begin:])
		default:
			text, mistake := p.block(e, part.block, d, s)
			if mistake != nil {
				return nil, mistake
			}
			dst = append(dst, text...)
			shape.block(part.block, text, s.Values, d.Changes())
		}
	}
	return dst, nil
}

var opening = []byte("{{")

// again appends text, the output of manifest i with template actions in it, expanded until
// there are none. masked is its output for masked data, not expanded yet.
func (e *textEngine) again(p *Pass, i int, dst, text []byte, d *Data, masked *twin) ([]byte, *Mistake) {
	if masked != nil {
		if mistake := e.expandTwin(p, i, masked); mistake != nil {
			return nil, mistake
		}
	}
	for pass := 1; bytes.Contains(text, opening) && !masked.isDone() && pass < e.expansions; pass++ {
		var mistake *Mistake
		text, mistake = masked.hide(text)
		if mistake != nil {
			return nil, mistake
		}
		text, mistake = e.expandText(p, text, d)
		if mistake != nil {
			return nil, mistake.inOutput()
		}
		mistake = masked.expand(p, e)
		if mistake != nil {
			return nil, mistake
		}
	}
	if e.expansions > 1 && bytes.Contains(text, opening) && !masked.isDone() {
		return nil, &Mistake{
			Summary: fmt.Sprintf("the output still contains \"{{\" after %d expansions", e.expansions),
			Hint:    "a value contains itself; or, if the output is to have \"{{\", set the annotation " + model.ExpansionsAnnotation + ": \"1\" on the Template",
		}
	}
	return append(dst, masked.show(text)...), nil
}

// expandText expands output as a template of its own.
func (e *textEngine) expandText(p *Pass, text []byte, d *Data) ([]byte, *Mistake) {
	m := meters.Get().(*metered)
	defer meters.Put(m)
	parsed, err := template.New(ownName).Funcs(m.functions).Parse(string(text))
	if err != nil {
		return nil, mistakeOf(err, 0).within(string(text))
	}
	a := analyse(parsed, parsed.Root)
	if a.mutates {
		d.detach()
	}
	countSteps(parsed)
	return p.execute(e, m, parsed, a.dot(d), 0)
}

// inOutput rewords a mistake that is in the output of the template, which has no line in
// the control plane.
func (m *Mistake) inOutput() *Mistake {
	line := m.Line
	m.Line = 0
	if line > 0 {
		m.Summary = fmt.Sprintf("in line %d of the output, which is expanded again: %s", line, m.Summary)
	} else {
		m.Summary = "in the output, which is expanded again: " + m.Summary
	}
	if m.Hint == "" {
		m.Hint = "if the output is to have \"{{\", set the annotation " + model.ExpansionsAnnotation + ": \"1\" on the Template"
	}
	return m
}

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
	valueTexts textCache // of blocks that read values only
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
		parsed, err := template.New(ownName).Funcs(parseFunctions).Parse(m.Text)
		if err != nil {
			mistake := mistakeOf(err, 1).clampLine(m.Text)
			mistake.Manifest = i
			mistakes = append(mistakes, *mistake)
			e.manifests = append(e.manifests, textManifest{}) // go on: the others may have mistakes too
			continue
		}
		e.manifests = append(e.manifests, e.compileManifest(parsed, m.Text))
	}
	return e, mistakes
}

func (e *textEngine) compileManifest(t *template.Template, text string) textManifest {
	if t.Tree == nil || t.Root == nil { // nothing but {{define}}
		return textManifest{}
	}
	a := analyseTemplate(t, t.Root)
	countSteps(t)
	set := &templateSet{parsed: t}
	e.reads |= a.reads
	m := textManifest{mutates: a.mutates, decodes: a.decodes}
	if a.mutates {
		whole := newBlock(set, t.Root.Nodes, text)
		whole.block.uses.reads = allFields
		m.parts = []part{whole}
	} else {
		m.parts = cutManifest(set, text)
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
func (e *textEngine) Reads(field string) bool { return e.reads&fieldBits[field] != 0 }

// Expand implements Engine.
func (e *textEngine) Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake) {
	start := len(dst)
	var mistakes []Mistake
	for i := range e.manifests {
		body := len(dst)
		text, mistake := e.expandManifest(p, i, dst, d, s, shape)
		if mistake != nil {
			mistake.Manifest = i
			mistakes = append(mistakes, *mistake)
			continue
		}
		dst = joinDocuments(text, start, body)
		if len(dst)-start > maxOutput {
			return dst[:start], []Mistake{tooLongMistake(i)}
		}
	}
	d.reattachUnchanged()
	if mistakes != nil {
		return dst[:start], mistakes
	}
	return dst, nil
}

// expandManifests returns the text of each manifest, for engines that build on them.
func (e *textEngine) expandManifests(p *Pass, d *Data, s Scope) ([][]byte, []Mistake) {
	var out [][]byte
	var mistakes []Mistake
	for i := range e.manifests {
		text, mistake := e.expandManifest(p, i, nil, d, s, nil)
		if mistake != nil {
			mistake.Manifest = i
			mistakes = append(mistakes, *mistake)
		}
		out = append(out, text)
	}
	d.reattachUnchanged()
	return out, mistakes
}

// expandManifest appends the text of one manifest to dst. After a mistake it undoes all changes
// of the data: half a change may leave them inconsistent.
func (e *textEngine) expandManifest(p *Pass, i int, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, *Mistake) {
	var masked *maskedOutput
	if e.manifests[i].mutates {
		masked = e.newMaskedOutput(i, d, s)
		d.detachShared()
	}
	text, mistake := e.expandParts(p, i, dst, d, s, shape)
	if mistake == nil && bytes.Contains(text[len(dst):], opening) {
		shape.markUnknown()
		if masked == nil {
			masked = e.newMaskedOutput(i, d, s)
		}
		text, mistake = e.expandAgain(p, i, dst, slices.Clone(text[len(dst):]), d, masked)
	}
	if mistake != nil {
		d.undoChanges()
	}
	return text, mistake
}

func (e *textEngine) expandParts(p *Pass, i int, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, *Mistake) {
	for _, part := range e.manifests[i].parts {
		switch {
		case part.literal != nil:
			dst = append(dst, part.literal...)
		case part.field != nil:
			var ok bool
			begin := len(dst)
			dst, ok = part.field.appendText(dst, d, e.options)
			if !ok {
				return nil, &Mistake{Line: part.field.line, Hint: missingHint, Summary: part.field.name + " has no value"}
			}
			shape.addField(part.field, dst[begin:])
		default:
			text, mistake := p.blockText(e, part.block, d, s)
			if mistake != nil {
				return nil, mistake
			}
			dst = append(dst, text...)
			shape.addBlock(part.block, text, s.Values, d.HasChanges())
		}
	}
	return dst, nil
}

var opening = []byte("{{")

// expandAgain appends text, the output of manifest i with template actions in it, expanded until
// there are none. masked is its output for masked data, not expanded yet.
func (e *textEngine) expandAgain(p *Pass, i int, dst, text []byte, d *Data, masked *maskedOutput) ([]byte, *Mistake) {
	if masked != nil {
		if mistake := e.expandMasked(p, i, masked); mistake != nil {
			return nil, mistake
		}
	}
	for pass := 1; bytes.Contains(text, opening) && !masked.isComplete() && pass < e.expansions; pass++ {
		var mistake *Mistake
		text, mistake = masked.hideBraces(text)
		if mistake != nil {
			return nil, mistake
		}
		text, mistake = e.expandOutput(p, text, d)
		if mistake != nil {
			return nil, mistake.markInOutput()
		}
		mistake = masked.expandAgain(p, e)
		if mistake != nil {
			return nil, mistake
		}
	}
	if e.expansions > 1 && bytes.Contains(text, opening) && !masked.isComplete() {
		return nil, &Mistake{
			Summary: fmt.Sprintf("the output still contains \"{{\" after %d expansions", e.expansions),
			Hint:    "a value contains itself; or, if the output is to have \"{{\", set the annotation " + model.ExpansionsAnnotation + ": \"1\" on the Template",
		}
	}
	return append(dst, masked.showBraces(text)...), nil
}

// expandOutput expands output as a template of its own.
func (e *textEngine) expandOutput(p *Pass, text []byte, d *Data) ([]byte, *Mistake) {
	m := functionPool.Get().(*meteredFunctions)
	defer functionPool.Put(m)
	parsed, err := template.New(ownName).Funcs(m.functions).Parse(string(text))
	if err != nil {
		return nil, mistakeOf(err, 0).clampLine(string(text))
	}
	a := analyseTemplate(parsed, parsed.Root)
	if a.mutates {
		d.detachShared()
	}
	countSteps(parsed)
	return p.executeTemplate(e, m, parsed, a.dotValue(d), 0)
}

// markInOutput rewords a mistake that is in the output of the template, which has no line in
// the control plane.
func (m *Mistake) markInOutput() *Mistake {
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

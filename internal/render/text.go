package render

import (
	"text/template"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type textEngine struct {
	options    Options
	manifests  []textManifest
	blocks     int
	reads      fields
	expansions int
	valueTexts textCache // of blocks that only read values
}

type textManifest struct {
	parts   []part
	mutates bool
	decodes bool // calls one of the decoders
}

// ownName is no valid Template name, so it cannot collide with {{define}}.
const ownName = "·manifest"

func newTextEngine(t *model.Template, o Options) (engine, []Mistake) {
	e := &textEngine{options: o, expansions: t.Expansions}
	var mistakes []Mistake
	for i, m := range t.Manifests {
		parsed, err := template.New(ownName).Funcs(parseFunctions).Parse(m.Text)
		if err != nil {
			mistake := mistakeOf(err, 1).clampLine(m.Text)
			mistake.Manifest = i
			mistakes = append(mistakes, *mistake)
			e.manifests = append(e.manifests, textManifest{}) // others may have mistakes too
			continue
		}
		e.manifests = append(e.manifests, e.compileManifest(parsed, m.Text))
	}
	return e, mistakes
}

func (e *textEngine) compileManifest(t *template.Template, text string) textManifest {
	if t.Tree == nil || t.Root == nil { // only {{define}}
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
	for i, p := range m.parts {
		switch {
		case p.block != nil:
			p.block.index = e.blocks
			e.blocks++
		case p.field != nil && i > 0 && i+1 < len(m.parts):
			p.field.alone = standsAlone(m.parts[i-1].literal, m.parts[i+1].literal)
		}
	}
	return m
}

func (e *textEngine) Reads(field string) bool { return e.reads&fieldBits[field] != 0 }

func (e *textEngine) Expand(p *Pass, dst []byte, d *Data, s Scope, shape *Shape) ([]byte, []Mistake) {
	x := expansion{p, e, d, s, shape}
	start := len(dst)
	var mistakes []Mistake
	for i := range e.manifests {
		body := len(dst)
		text, mistake := x.expandManifest(i, dst)
		if mistake != nil {
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

func (e *textEngine) expandManifests(p *Pass, d *Data, s Scope) ([][]byte, []Mistake) {
	x := expansion{p, e, d, s, nil}
	var out [][]byte
	var mistakes []Mistake
	for i := range e.manifests {
		text, mistake := x.expandManifest(i, nil)
		if mistake != nil {
			mistakes = append(mistakes, *mistake)
		}
		out = append(out, text)
	}
	d.reattachUnchanged()
	return out, mistakes
}

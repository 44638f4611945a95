package render

import (
	"bytes"
	"fmt"
	"slices"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

type expansion struct {
	pass   *Pass
	engine *textEngine
	data   *Data
	scope  Scope
	shape  *Shape // nil if not recorded
}

// expandManifest appends the text of one manifest to dst. After a mistake it undoes
// changes of the data, which may be inconsistent.
func (x *expansion) expandManifest(i int, dst []byte) ([]byte, *Mistake) {
	m := &x.engine.manifests[i]
	var masked *maskedOutput
	if m.mutates {
		masked = x.newMaskedOutput(m)
		x.data.detachShared()
	}
	text, mistake := x.expandParts(m, dst)
	if mistake == nil && bytes.Contains(text[len(dst):], opening) {
		x.shape.markUnknown()
		if masked == nil {
			masked = x.newMaskedOutput(m)
		}
		text, mistake = x.expandAgain(m, dst, slices.Clone(text[len(dst):]), masked)
	}
	if mistake != nil {
		mistake.Manifest = i
		x.data.undoChanges()
	}
	return text, mistake
}

func (x *expansion) expandParts(m *textManifest, dst []byte) ([]byte, *Mistake) {
	for _, part := range m.parts {
		switch {
		case part.literal != nil:
			dst = append(dst, part.literal...)
		case part.field != nil:
			var ok bool
			begin := len(dst)
			dst, ok = part.field.appendText(dst, x.data, x.engine.options)
			if !ok {
				return nil, &Mistake{Line: part.field.line, Hint: missingHint, Summary: part.field.name + " has no value"}
			}
			x.shape.addField(part.field, dst[begin:])
		default:
			text, mistake := x.blockText(part.block)
			if mistake != nil {
				return nil, mistake
			}
			dst = append(dst, text...)
			x.shape.addBlock(part.block, text, x.scope.Values, x.data.HasChanges())
		}
	}
	return dst, nil
}

func (x *expansion) blockText(b *blockPart) ([]byte, *Mistake) {
	scope, shared := b.sharedKey(x.scope)
	if !shared || x.data.HasChanges() && b.uses.reads&fieldBits["ConfigData"] != 0 {
		return x.expandBlock(b)
	}
	texts, key := &x.pass.texts, memoKey{x.engine, b.index, x.data.Environment, scope}
	if b.readsOnlyValues() {
		texts = &x.engine.valueTexts // the key has the values' digest, so texts outlive the pass
	}
	if text, ok := texts.get(key); ok {
		return text, nil
	}
	text, mistake := x.expandBlock(b)
	if mistake == nil {
		texts.put(key, text)
	}
	return text, mistake
}

// executeTemplate expands a template. If the text has a missing value by mistake, a
// strict second expansion finds it.
func (x *expansion) executeTemplate(m *meteredFunctions, t *template.Template, dot any, line int) ([]byte, *Mistake) {
	p := x.pass
	canceled := p.Canceled
	if p.finished.Load() {
		canceled = nil
	}
	run := func(t *template.Template) ([]byte, error) {
		m.meter.Reset(maxSteps, canceled)
		out := boundedBuffer{meter: &m.meter}
		err := panics.RunLibrary("the template engine", func() error { return t.Execute(&out, dot) })
		p.chargeEngine(x.engine, maxSteps-m.meter.Left())
		return out.text.Bytes(), err
	}
	if p.Exhausted() {
		return nil, &Mistake{Line: line, Summary: "rendering the environment takes too much work"}
	}
	text, err := run(t)
	if err != nil {
		return nil, mistakeOf(err, line)
	}
	if x.engine.options.PublishMissing || !bytes.Contains(text, noValue) {
		return text, nil
	}
	strict, err := t.Clone()
	if err == nil {
		_, err = run(strict.Option("missingkey=error"))
	}
	if err != nil {
		return nil, mistakeOf(err, line)
	}
	return nil, &Mistake{Line: line, Summary: `a value is null or missing, and would show as "<no value>"`, Hint: missingHint}
}

func (x *expansion) expandBlock(b *blockPart) ([]byte, *Mistake) {
	bound, err := b.set.takeCopy()
	if err != nil {
		return nil, mistakeOf(err, b.line)
	}
	defer b.set.copies.Put(bound)
	return x.executeTemplate(bound.functions, bound.set.Lookup(b.name), b.uses.dotValue(x.data), b.line)
}

var opening = []byte("{{")

// expandAgain appends text, repeatedly expanded until it has no actions. masked is the
// unexpanded output for masked data.
func (x *expansion) expandAgain(m *textManifest, dst, text []byte, masked *maskedOutput) ([]byte, *Mistake) {
	if masked != nil {
		if mistake := x.expandMasked(m, masked); mistake != nil {
			return nil, mistake
		}
	}
	for pass := 1; bytes.Contains(text, opening) && !masked.isComplete() && pass < x.engine.expansions; pass++ {
		var mistake *Mistake
		text, mistake = masked.hideBraces(text)
		if mistake != nil {
			return nil, mistake
		}
		m := functionPool.Get().(*meteredFunctions)
		text, mistake = x.expandOutput(m, nil, text, x.data)
		functionPool.Put(m)
		if mistake != nil {
			return nil, mistake.markInOutput()
		}
		mistake = x.expandMaskedAgain(masked)
		if mistake != nil {
			return nil, mistake
		}
	}
	if x.engine.expansions > 1 && bytes.Contains(text, opening) && !masked.isComplete() {
		return nil, &Mistake{
			Summary: fmt.Sprintf("the output still contains \"{{\" after %d expansions", x.engine.expansions),
			Hint:    "a value contains itself; or, if the output is to have \"{{\", set the annotation " + model.ExpansionsAnnotation + ": \"1\" on the Template",
		}
	}
	text = masked.showBraces(text)
	if x.engine.expansions > 1 && bytes.Contains(text, opening) {
		return nil, dataWithBraces()
	}
	return append(dst, text...), nil
}

func (x *expansion) expandOutput(m *meteredFunctions, decoders template.FuncMap, text []byte, d *Data) ([]byte, *Mistake) {
	parsed, err := template.New(ownName).Funcs(m.functions).Funcs(decoders).Parse(string(text))
	if err != nil {
		return nil, mistakeOf(err, 0).clampLine(string(text))
	}
	a := analyseTemplate(parsed, parsed.Root)
	if a.mutates {
		d.detachShared()
	}
	countSteps(parsed)
	return x.executeTemplate(m, parsed, a.dotValue(d), 0)
}

package render

import (
	"bytes"
	"regexp"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// Text from a workload's repository is data, never template. Output that contains "{{" is
// expanded again, and may contain such data: in its text, or in an action that the platform
// team composed. So where a team's text has characters of the template language, the
// manifest is expanded a second time, with those characters masked in the data. An action
// in the masked output was written by the platform team; without any, the output is
// complete; and an action that contains masks would execute data, which is a mistake.
//
// A team's names and labels have no such characters: they are checked when they are read.
// That leaves the keys and values of manifests, and what templates copy of them into
// .ConfigData.

// A mask is as long as the character that it replaces.
const (
	maskedBrace = '\x01' // for { and }
	maskedOther = '\x02' // for all else that has a meaning in an action

	hiddenOpen  = '\x03' // for a "{" of data, in output that is expanded again
	hiddenClose = '\x04' // for a "}"
)

// maskInAction matches masks, plain or escaped by a function that quotes.
var maskInAction = regexp.MustCompile(`[\x01\x02]|\\x0[12]|\\u000[12]`)

// maskText replaces the characters of a text that have a meaning in a template.
func maskText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '{' || r == '}':
			return maskedBrace
		case r < 0x80 && !isInert(byte(r)):
			return maskedOther
		}
		return r
	}, text)
}

// isInert reports whether a character has no meaning in an action, alone or with others.
func isInert(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./:@-+~%#,?&=;!", c) >= 0
}

// isMasked reports whether masking would change any of the texts.
func isMasked(texts map[string]string) bool {
	for key, value := range texts {
		if maskText(key) != key || maskText(value) != value {
			return true
		}
	}
	return false
}

// maskTeamData returns a copy of the data with the team's texts masked: its manifests, and the
// values that a template has changed.
func (d *Data) maskTeamData() *Data {
	m := *d
	m.original = nil
	m.Manifests = make(map[string]string, len(d.Manifests))
	for key, value := range d.Manifests {
		m.Manifests[maskText(key)] = maskText(value)
	}
	if d.original == nil {
		m.ConfigData = templatefunc.Clone(d.ConfigData).(map[string]any)
	} else {
		m.ConfigData = maskChanged(d.ConfigData, d.original.ConfigData).(map[string]any)
	}
	return &m
}

// maskChanged returns a copy of a value, in which the texts that differ from before are
// masked.
func maskChanged(v, before any) any {
	switch v := v.(type) {
	case string:
		if v != before {
			return maskText(v)
		}
	case []string:
		c := make([]string, len(v))
		for i, item := range v {
			c[i] = maskText(item)
		}
		return c
	case map[string]string:
		c := make(map[string]string, len(v))
		for key, item := range v {
			c[maskText(key)] = maskText(item)
		}
		return c
	case map[string]any:
		old, _ := before.(map[string]any)
		return maskMap(v, old)
	case map[any]any:
		old, _ := before.(map[any]any)
		return maskMap(v, old)
	case []any:
		old, _ := before.([]any)
		c := make([]any, len(v))
		for i, item := range v {
			if i < len(old) {
				c[i] = maskChanged(item, old[i])
			} else {
				c[i] = maskChanged(item, nil)
			}
		}
		return c
	}
	return v
}

func maskMap[K comparable](v, before map[K]any) map[K]any {
	c := make(map[K]any, len(v))
	for key, item := range v {
		old, known := before[key]
		if text, ok := any(key).(string); ok && !known {
			key = any(maskText(text)).(K)
		}
		c[key] = maskChanged(item, old)
	}
	return c
}

// decoders are the functions whose result can have a brace where the text has none.
var decoders = []string{"b64dec", "b32dec", "decryptAES", "urlParse"}

// maskedDecoders returns the decoders for masked data: they mask their results.
func maskedDecoders(of *meteredFunctions) template.FuncMap {
	m := template.FuncMap{}
	for _, name := range decoders {
		switch decode := of.functions[name].(type) {
		case func(string) (string, error):
			m[name] = func(text string) (string, error) {
				decoded, err := decode(text)
				return maskText(decoded), err
			}
		case func(string, string) (string, error):
			m[name] = func(a, b string) (string, error) {
				decoded, err := decode(a, b)
				return maskText(decoded), err
			}
		case func(string) (map[string]any, error):
			m[name] = func(text string) (map[string]any, error) {
				decoded, err := decode(text)
				return maskChanged(decoded, nil).(map[string]any), err
			}
		}
	}
	return m
}

// maskedOutput is the output of a manifest for masked data. It is nil where no team's text can be
// in the output.
type maskedOutput struct {
	data *Data
	text []byte
}

// newMaskedOutput returns the masked output of a manifest that has not changed its data yet; nil if
// nothing has to be masked, or output is not expanded again.
func (x *expansion) newMaskedOutput(m *textManifest) *maskedOutput {
	if !x.scope.Team || x.engine.expansions < 2 || !x.data.HasChanges() && !isMasked(x.data.Manifests) && !m.decodes {
		return nil
	}
	return &maskedOutput{data: x.data.maskTeamData()}
}

// expandMasked expands a manifest for masked data.
func (x *expansion) expandMasked(m *textManifest, t *maskedOutput) *Mistake {
	for _, part := range m.parts {
		switch {
		case part.literal != nil:
			t.text = append(t.text, part.literal...)
		case part.field != nil:
			t.text, _ = part.field.appendText(t.text, t.data, x.engine.options)
		default:
			clone, err := part.block.set.parsed.Clone()
			if err != nil {
				return mistakeOf(err, part.block.line)
			}
			f := newMeteredFunctions()
			clone.Funcs(f.functions).Funcs(maskedDecoders(f))
			text, mistake := x.executeTemplate(f, clone.Lookup(part.block.name), part.block.uses.dotValue(t.data), part.block.line)
			if mistake != nil {
				return dataAsTemplate()
			}
			t.text = append(t.text, text...)
		}
	}
	return nil
}

// isComplete reports whether nothing in the output has to be expanded again: all that looks
// like an action is data.
func (t *maskedOutput) isComplete() bool { return t != nil && !bytes.Contains(t.text, opening) }

var closing = []byte("}}")

// hideBraces returns the output with the braces that are data hidden from the parser, or a mistake
// if data would be a part of an action. The masked output tells data from template: it must
// be equal to the output, except for its masks.
func (t *maskedOutput) hideBraces(text []byte) ([]byte, *Mistake) {
	if t == nil {
		return text, nil
	}
	if len(t.text) != len(text) {
		return nil, dataAsTemplate()
	}
	for i, c := range t.text {
		hidden := text[i] == hiddenOpen || text[i] == hiddenClose
		switch {
		case c == maskedBrace && text[i] == '{':
			text[i] = hiddenOpen
		case c == maskedBrace && text[i] == '}':
			text[i] = hiddenClose
		case c != text[i] && c != maskedOther && !(c == maskedBrace && hidden) || c == text[i] && hidden:
			return nil, dataAsTemplate()
		}
	}
	_, rest, found := bytes.Cut(t.text, opening)
	for found {
		action, after, _ := bytes.Cut(rest, closing)
		if maskInAction.Match(action) {
			return nil, dataAsTemplate()
		}
		_, rest, found = bytes.Cut(after, opening)
	}
	return text, nil
}

// showBraces returns the output with the hidden braces restored.
func (t *maskedOutput) showBraces(text []byte) []byte {
	if t == nil {
		return text
	}
	text = bytes.ReplaceAll(text, []byte{hiddenOpen}, []byte("{"))
	return bytes.ReplaceAll(text, []byte{hiddenClose}, []byte("}"))
}

// expandMaskedAgain expands the masked output again.
func (x *expansion) expandMaskedAgain(t *maskedOutput) *Mistake {
	if t == nil {
		return nil
	}
	m := newMeteredFunctions()
	text, mistake := x.expandOutput(m, maskedDecoders(m), t.text, t.data)
	if mistake != nil {
		return dataAsTemplate()
	}
	t.text = text
	return nil
}

// dataWithBraces returns the mistake that a workload's repository wrote a template where Kalypso would
// expand it. Published as it is, no cluster could use it.
func dataWithBraces() *Mistake {
	return &Mistake{
		OfTeam:  true,
		Summary: "the workload's manifests contain \"{{\", which is not expanded here: a workload's repository writes data",
		Hint: "write the value out in the workload, or set it in a config; if clusters should get \"{{\", set the annotation " +
			model.ExpansionsAnnotation + ": \"1\" on the Template",
	}
}

// dataAsTemplate returns the mistake that data of a team would be executed as a template.
func dataAsTemplate() *Mistake {
	return &Mistake{
		Summary: "what a workload's repository wrote would become a part of the template, because the output is expanded again",
		Hint: "take braces, quotes and the like out of the manifests of the workload; or set the annotation " +
			model.ExpansionsAnnotation + ": \"1\" on the Template",
	}
}

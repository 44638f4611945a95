package render

import (
	"bytes"
	"regexp"
	"strings"
	"text/template"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/templatefunc"
)

// Text from a workload's repository is data, never a template. Output that contains
// "{{" is expanded again and may contain such data, also in actions that the platform
// team composed. If a team's text has template characters, the manifest is therefore
// expanded a second time with these masked. Actions in the masked output are the
// platform team's. Without any, the output is complete. Actions with masks would
// execute data, which is a mistake.
//
// Names and labels of teams are checked when read. That leaves the keys and values of
// manifests, and what templates copy from them to .ConfigData.

// Masks are as long as the character that they replace.
const (
	maskedBrace = '\x01' // { and }
	maskedOther = '\x02' // other characters with a meaning in an action

	hiddenOpen  = '\x03' // "{" of data in output that is expanded again
	hiddenClose = '\x04' // "}" likewise
)

// maskInAction matches masks, also escaped by a quoting function.
var maskInAction = regexp.MustCompile(`[\x01\x02]|\\x0[12]|\\u000[12]`)

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

func isInert(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_./:@-+~%#,?&=;!", c) >= 0
}

func isMasked(texts map[string]string) bool {
	for key, value := range texts {
		if maskText(key) != key || maskText(value) != value {
			return true
		}
	}
	return false
}

// maskTeamData masks the team's texts in a copy: manifests, and values that a template
// changed.
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

// maskChanged masks texts that differ from before in a copy.
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

// decoders are functions whose result may have a brace that the argument lacks.
var decoders = []string{"b64dec", "b32dec", "decryptAES", "urlParse"}

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

// maskedOutput is the output for masked data. It is nil if no team's text can be in the
// output.
type maskedOutput struct {
	data *Data
	text []byte
}

// newMaskedOutput returns nil if nothing is masked or output is not expanded again. It
// must precede changes of the data.
func (x *expansion) newMaskedOutput(m *textManifest) *maskedOutput {
	if !x.scope.Team || x.engine.expansions < 2 || !x.data.HasChanges() && !isMasked(x.data.Manifests) && !m.decodes {
		return nil
	}
	return &maskedOutput{data: x.data.maskTeamData()}
}

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

func (t *maskedOutput) isComplete() bool { return t != nil && !bytes.Contains(t.text, opening) }

var closing = []byte("}}")

// hideBraces hides braces of data from the parser. It returns a mistake if data would
// become part of an action: the masked output must equal the output except for masks.
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

func (t *maskedOutput) showBraces(text []byte) []byte {
	if t == nil {
		return text
	}
	text = bytes.ReplaceAll(text, []byte{hiddenOpen}, []byte("{"))
	return bytes.ReplaceAll(text, []byte{hiddenClose}, []byte("}"))
}

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

// dataWithBraces is the mistake of a template in a workload's repository where Kalypso
// would expand it. Unexpanded, no cluster could use it.
func dataWithBraces() *Mistake {
	return &Mistake{
		OfTeam:  true,
		Summary: "the workload's manifests contain \"{{\", which is not expanded here: a workload's repository writes data",
		Hint: "write the value out in the workload, or set it in a config; if clusters should get \"{{\", set the annotation " +
			model.ExpansionsAnnotation + ": \"1\" on the Template",
	}
}

func dataAsTemplate() *Mistake {
	return &Mistake{
		Summary: "what a workload's repository wrote would become a part of the template, because the output is expanded again",
		Hint: "take braces, quotes and the like out of the manifests of the workload; or set the annotation " +
			model.ExpansionsAnnotation + ": \"1\" on the Template",
	}
}

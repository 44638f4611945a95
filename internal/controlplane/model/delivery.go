package model

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// What is YAML is not always what Flux delivers to the API server: it reads files with
// kustomize, writes them as YAML again, reads that, and writes JSON.

func (d *decoder) decodeBinary(n *yaml.Node, path string) string {
	var text string
	err := n.Decode(&text)
	if err == nil && !utf8.ValidString(text) {
		err = errors.New("it is not UTF-8")
	}
	if err != nil {
		d.addProblem(n, "the decoded bytes must be UTF-8 text", "%s should be text in base64, but %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
		return ""
	}
	return text
}

// refusedCharacter finds a character that kustomize, and so Flux, does not take in a
// text, although YAML has ways to write it.
func refusedCharacter(text string) (rune, bool) {
	for _, c := range text {
		if c == 0x7f || c >= 0x80 && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff {
			return c, true
		}
	}
	return 0, false
}

// checkKey reports a key that Flux does not take because it is not text.
func (d *decoder) checkKey(key *yaml.Node) {
	if c, ok := refusedCharacter(key.Value); ok {
		d.addProblem(key, "remove it", "a key contains the character %U, which Flux does not accept", c)
	}
	if tag := key.ShortTag(); tag != "!!str" && tag != "!!merge" && strings.HasPrefix(tag, "!!") {
		d.addProblem(key, fmt.Sprintf("put it in quotes: %q", key.Value), "a key should be text, but %s is %s", key.Value, yamldoc.DescribeType(key))
	}
}

// checkForeign reports what Flux refuses in an object that is not read: a key that is given twice.
func (r *reader) checkForeign(n *yaml.Node, h header) {
	if r.layer.Kind == TeamStacks || r.layer.Kind == BuiltIn || r.built {
		return
	}
	for _, f := range manifest.FindDuplicates(n) {
		r.out.problems.Addf(r.positionAt(f.Line), h.kind+"/"+nameOf(n), f.Hint, "%s", f.Summary)
	}
}

// refusesNull reports a null that Flux or the API server does not take as the value of
// a field of that type. Nothing at all in braces ({name: a, labels: }) is the empty text
// for Flux.
func (d *decoder) refusesNull(n *yaml.Node, f reflect.StructField, braces bool, path string) bool {
	kind, _, _ := strings.Cut(d.subject, "/")
	if d.foreign || !isKind(kind, Kinds) && kind != "ConfigMap" {
		return false
	}
	empty := braces && n.Value == ""
	if words := wantedOf(f.Type); empty && words != "" {
		d.addProblem(n, "remove the field", "%s should be %s, but an empty value in braces is an empty text", path, words)
		return true
	}
	if !empty && isRequired(f) && strings.HasPrefix(path, "spec") {
		d.addProblem(n, "", "%s is required, but is null", path)
		return true
	}
	return false
}

// wantedOf describes what a field of that type should be; "" if text, or anything, is fine.
func wantedOf(field reflect.Type) string {
	switch {
	case field == reflect.TypeFor[locatedText]() || field == reflect.TypeFor[annotations]():
		return ""
	case field.Kind() == reflect.Map || field.Kind() == reflect.Struct:
		return "a mapping"
	case field.Kind() == reflect.Slice:
		return "a list"
	}
	return ""
}

// annotations are those of an object's metadata. Flux writes all of them as text,
// whatever they are.
type annotations map[string]locatedText

func (d *decoder) decodeAnnotations(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.addProblem(n, "", "%s should be a mapping, but is %s", path, yamldoc.DescribeType(n))
		return
	}
	all := annotations{}
	for key, value := range d.uniquePairs(n) {
		if value.Kind != yaml.ScalarNode {
			d.addProblem(value, "", "%s should be text, but is %s", yamldoc.JoinPath(path, key.Value), yamldoc.DescribeType(value))
			continue
		}
		all[key.Value] = locatedText{Text: value.Value, Line: textLine(value)}
	}
	v.Set(reflect.ValueOf(all))
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
)

// reader reads YAML into Settings, strictly. A path names a value as in
// "remotes[0].token"; it is the subject of the value's problems. The types have no
// cycles, so a document whose aliases do ends where the types end.
type reader struct {
	file     string
	problems problem.List
	lines    map[string]int  // of every value that is there and not null
	wrong    map[string]bool // values that could not be taken
}

// given reports whether the file has a value at path.
func (r *reader) given(path string) bool { return r.lines[path] > 0 }

// broken reports whether the value at path was of the wrong type; its field is then not set.
func (r *reader) broken(path string) bool { return r.wrong[path] }

func (r *reader) pos(line int) problem.Pos { return problem.Pos{File: r.file, Line: line} }

// line returns the line of the value at path, or of the innermost mapping around it that the
// file has.
func (r *reader) line(path string) int {
	for path != "" && r.lines[path] == 0 {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return r.lines[path]
}

func (r *reader) addf(path, hint, format string, args ...any) {
	r.problems.Addf(r.pos(r.line(path)), path, hint, format, args...)
}

func (r *reader) warnf(path, hint, format string, args ...any) {
	r.problems.Warnf(r.pos(r.line(path)), path, hint, format, args...)
}

// refuse reports the value at path, which does not get into the Settings.
func (r *reader) refuse(path, hint, format string, args ...any) {
	if r.wrong == nil {
		r.wrong = map[string]bool{}
	}
	r.wrong[path] = true
	r.addf(path, hint, format, args...)
}

var syntaxError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document parses the file and returns its root; an empty mapping if the file is empty.
func (r *reader) document(data []byte) (*yaml.Node, bool) {
	var first, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&first)
	if err == nil {
		err = decoder.Decode(&second)
		if err == nil {
			r.problems.Addf(r.pos(second.Line), "", "remove it, and the --- before it", "there is a second document")
			return nil, false
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		match := syntaxError.FindStringSubmatch(err.Error())
		line := 0
		if match != nil {
			line, _ = strconv.Atoi(match[1]) // it has none, or digits only
		}
		r.problems.Addf(r.pos(line), "", "look at the indentation, colons and quotes here and in the line before", "this is not YAML: %s", syntaxError.ReplaceAllString(err.Error(), ""))
		return nil, false
	}
	if len(first.Content) == 0 || isNull(first.Content[0]) {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, true
	}
	return first.Content[0], true
}

func (r *reader) decode(root *yaml.Node, s *Settings) {
	r.into(root, reflect.ValueOf(s).Elem(), "")
}

// into fills v from n. A null is as good as nothing.
func (r *reader) into(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if isNull(n) {
		return
	}
	r.lines[path] = n.Line
	switch v.Addr().Interface().(type) {
	case *time.Duration:
		r.duration(n, v, path)
		return
	case *SecretRef:
		r.secretRef(n, v, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.into(n, v.Elem(), path)
	case reflect.Struct:
		r.structure(n, v, path)
	case reflect.Map:
		r.textMap(n, v, path)
	case reflect.Slice:
		r.list(n, v, path)
	case reflect.Bool:
		r.scalar(n, v, path, "!!bool", "true or false")
	case reflect.Int, reflect.Int64:
		r.scalar(n, v, path, "!!int", "a whole number")
	default:
		r.scalar(n, v, path, "!!str", "text")
	}
}

func (r *reader) structure(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		r.refuse(path, "its keys are "+strings.Join(keysOf(v.Type()), ", "), "should be a mapping, but is %s", describe(n))
		return
	}
	for key, value := range r.pairs(n, path) {
		field, ok := fieldOf(v.Type(), key.Value)
		if !ok {
			r.problems.Addf(r.pos(key.Line), join(path, key.Value), keyHint(key.Value, keysOf(v.Type())), "there is no such key")
			continue
		}
		at := join(path, key.Value)
		r.into(value, v.FieldByIndex(field.Index), at)
		if text, ok := v.FieldByIndex(field.Index).Interface().(string); ok && text == "" && r.given(at) && !r.broken(at) && field.Tag.Get("empty") == "" {
			r.refuse(at, "leave it out, or write something", "is empty")
		}
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if example := f.Tag.Get("required"); example != "" && !r.given(join(path, f.Tag.Get("yaml"))) {
			r.addf(join(path, f.Tag.Get("yaml")), "write "+example, "is required")
		}
	}
}

// pairs yields the keys and values of a mapping, and reports keys that are not text
// or are given twice.
func (r *reader) pairs(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			switch {
			case key.Kind != yaml.ScalarNode:
				r.problems.Addf(r.pos(key.Line), path, "write a word and a colon", "a key should be text, but is %s", describe(key))
			case seen[key.Value]:
				r.problems.Addf(r.pos(key.Line), join(path, key.Value), "remove one of them", "is given twice")
			default:
				seen[key.Value] = true
				if !yield(key, n.Content[i+1]) {
					return
				}
			}
		}
	}
}

func (r *reader) textMap(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		r.refuse(path, "write pairs of texts, KEY: VALUE", "should be a mapping, but is %s", describe(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range r.pairs(n, path) {
		at, item := join(path, key.Value), reflect.New(v.Type().Elem()).Elem()
		r.into(value, item, at)
		if item.String() != "" {
			v.SetMapIndex(reflect.ValueOf(key.Value), item)
		} else if !r.broken(at) {
			r.problems.Addf(r.pos(key.Line), at, "remove the line, or write a value", "is empty")
		}
	}
}

func (r *reader) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		r.refuse(path, "write [ ] around it, or a dash before it", "should be a list, but is %s", describe(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.into(item, v.Index(i), at)
		if !r.given(at) {
			r.problems.Addf(r.pos(item.Line), at, "remove the dash, or write something after it", "is empty")
		}
	}
}

// scalar reads a value that YAML must see as of the type tag, which words describe.
func (r *reader) scalar(n *yaml.Node, v reflect.Value, path, tag, words string) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != tag {
		hint := "write " + words
		if tag == "!!str" && n.Kind == yaml.ScalarNode {
			hint = fmt.Sprintf("put it in quotes: %q", n.Value)
		}
		r.refuse(path, hint, "should be %s, but is %s", words, describe(n))
		return
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		r.refuse(path, "write a smaller one", "%s is too large", n.Value)
	}
}

func (r *reader) duration(n *yaml.Node, v reflect.Value, path string) {
	const hint = `write it with its unit, as in "90s", "5m" or "1h30m"`
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.Value != "0" {
		r.refuse(path, hint, "should be a duration, but is %s", describe(n))
		return
	}
	d, err := time.ParseDuration(n.Value)
	if err != nil {
		r.refuse(path, hint, "%q is not a duration", n.Value)
		return
	}
	v.SetInt(int64(d))
}

// secretRef reads where a secret is. If the file has the secret itself, the message does not
// repeat it.
func (r *reader) secretRef(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		r.refuse(path, "put it into a file or an environment variable, and write {file: PATH} or {env: NAME}; change it if others have seen this file", "a secret cannot be in the settings")
		return
	}
	r.structure(n, v, path)
}

// keysOf returns the keys of a struct, in its order.
func keysOf(t reflect.Type) []string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	fields := reflect.VisibleFields(t)
	i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return key != "" && f.Tag.Get("yaml") == key })
	if i < 0 {
		return reflect.StructField{}, false
	}
	return fields[i], true
}

func keyHint(key string, known []string) string {
	if hint := problem.DidYouMean(key, known); hint != "" {
		return hint
	}
	return "the keys are " + strings.Join(known, ", ")
}

// join returns the path of a key below path. A key may be a URL with a password in it, which
// is redacted.
func join(path, key string) string {
	key = giturl.Redact(key)
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, "./[] "):
		return path + "[" + key + "]"
	}
	return path + "." + key
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe names the type of a value for people. YAML takes a whole number that is too large
// for a decimal one.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!int":
		return "a number"
	case "!!float":
		return "a number with decimals or too large"
	case "!!bool":
		return "a boolean"
	case "!!str":
		return "text"
	case "!!timestamp":
		return "a date"
	}
	return "of type " + n.ShortTag()
}

package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// reader decodes YAML into Settings, strictly. A path such as "remotes[0].token" is the subject of
// a value's problems. The types have no cycles, so cyclic aliases end too.
type reader struct {
	file     string
	problems problem.List
	lines    map[string]int
	wrong    map[string]bool
}

func (r *reader) isGiven(path string) bool { return r.lines[path] > 0 }

func (r *reader) isBroken(path string) bool { return r.wrong[path] }

func (r *reader) positionAt(line int) problem.Pos { return problem.Pos{File: r.file, Line: line} }

func (r *reader) nearestLine(path string) int {
	for path != "" && r.lines[path] == 0 {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return r.lines[path]
}

func (r *reader) addProblem(path, hint, format string, args ...any) {
	r.problems.Addf(r.positionAt(r.nearestLine(path)), path, hint, format, args...)
}

func (r *reader) addWarning(path, hint, format string, args ...any) {
	r.problems.Warnf(r.positionAt(r.nearestLine(path)), path, hint, format, args...)
}

func (r *reader) refuseValue(path, hint, format string, args ...any) {
	if r.wrong == nil {
		r.wrong = map[string]bool{}
	}
	r.wrong[path] = true
	r.addProblem(path, hint, format, args...)
}

var syntaxError = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

func (r *reader) parseDocument(data []byte) (*yaml.Node, bool) {
	documents, err := yamldoc.Parse(data)
	switch {
	case len(documents) > 1:
		r.problems.Addf(r.positionAt(documents[1].Line), "", "remove it and the --- before it", "there is a second document")
		return nil, false
	case err != nil && yamldoc.ConflictLine(data) > 0:
		r.problems.Addf(r.positionAt(yamldoc.ConflictLine(data)), "", yamldoc.ConflictHint, "the file has a merge conflict")
		return nil, false
	case err != nil:
		place := syntaxError.FindStringSubmatch(err.Error())
		line, _ := strconv.Atoi(place[1])
		r.problems.Addf(r.positionAt(line), "", "look at the indentation, colons and quotes here and in the line before", "this is not YAML: %s", err.Error()[len(place[0]):])
		return nil, false
	case len(documents) == 0 || yamldoc.RootOf(documents[0]) == nil || yamldoc.IsNull(yamldoc.RootOf(documents[0])):
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, true
	}
	return yamldoc.RootOf(documents[0]), true
}

func (r *reader) decodeValue(n *yaml.Node, v reflect.Value, path string) {
	n = yamldoc.ResolveAlias(n)
	if yamldoc.IsNull(n) {
		return
	}
	r.lines[path] = n.Line
	switch v.Addr().Interface().(type) {
	case *time.Duration:
		r.decodeDuration(n, v, path)
		return
	case *SecretRef:
		if n.Kind != yaml.MappingNode { // it may be the secret itself, so the message does not repeat it
			r.refuseValue(path, "put it into a file or an environment variable, and write {file: PATH} or {env: NAME}; change it if others have seen this file", "a secret cannot be in the settings")
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.decodeValue(n, v.Elem(), path)
	case reflect.Struct:
		r.decodeStruct(n, v, path)
	case reflect.Map:
		r.decodeTextMap(n, v, path)
	case reflect.Slice:
		r.decodeList(n, v, path)
	case reflect.Bool:
		r.decodeScalar(n, v, path, "!!bool", "true or false")
	case reflect.Int, reflect.Int64:
		r.decodeScalar(n, v, path, "!!int", "a whole number")
	default:
		r.decodeScalar(n, v, path, "!!str", "text")
	}
}

func (r *reader) decodeStruct(n *yaml.Node, v reflect.Value, path string) {
	fields := yamldoc.FieldsOf(v.Type())
	if n.Kind != yaml.MappingNode {
		r.refuseValue(path, "its keys are "+fields.Keys(), "should be a mapping, but is %s", describeNode(n))
		return
	}
	for key, value := range r.uniquePairs(n, path) {
		field, ok := fields.Find(key.Value)
		if !ok {
			r.problems.Addf(r.positionAt(key.Line), joinPath(path, key.Value), fields.HintFor(key.Value, "the keys are "), "unknown key")
			continue
		}
		at := joinPath(path, key.Value)
		r.decodeValue(value, v.FieldByIndex(field.Index), at)
		if text, ok := v.FieldByIndex(field.Index).Interface().(string); ok && text == "" && r.isGiven(at) && !r.isBroken(at) && field.Tag.Get("empty") == "" {
			r.refuseValue(at, "leave it out, or write something", "is empty")
		}
	}
	for _, f := range fields {
		if example := f.Tag.Get("required"); example != "" && !r.isGiven(joinPath(path, yamldoc.KeyOf(f))) {
			r.addProblem(joinPath(path, yamldoc.KeyOf(f)), "write "+example, "is required")
		}
	}
}

func (r *reader) uniquePairs(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			switch {
			case key.Kind != yaml.ScalarNode:
				r.problems.Addf(r.positionAt(key.Line), path, "write a word and a colon", "a key should be text, but is %s", describeNode(key))
			case seen[key.Value]:
				r.problems.Addf(r.positionAt(key.Line), joinPath(path, key.Value), "remove one of them", "is given twice")
			default:
				seen[key.Value] = true
				if !yield(key, n.Content[i+1]) {
					return
				}
			}
		}
	}
}

func (r *reader) decodeTextMap(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		r.refuseValue(path, "write pairs of texts, KEY: VALUE", "should be a mapping, but is %s", describeNode(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range r.uniquePairs(n, path) {
		at, item := joinPath(path, key.Value), reflect.New(v.Type().Elem()).Elem()
		r.decodeValue(value, item, at)
		if item.String() != "" {
			v.SetMapIndex(reflect.ValueOf(key.Value), item)
		} else if !r.isBroken(at) {
			r.problems.Addf(r.positionAt(key.Line), at, "remove the line, or write a value", "is empty")
		}
	}
}

func (r *reader) decodeList(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		r.refuseValue(path, "write [ ] around it, or a dash before it", "should be a list, but is %s", describeNode(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.decodeValue(item, v.Index(i), at)
		if !r.isGiven(at) {
			r.problems.Addf(r.positionAt(item.Line), at, "remove the dash, or write something after it", "is empty")
		}
	}
}

func (r *reader) decodeScalar(n *yaml.Node, v reflect.Value, path, tag, words string) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != tag {
		hint := "write " + words
		if tag == "!!str" && n.Kind == yaml.ScalarNode {
			hint = fmt.Sprintf("put it in quotes: %q", n.Value)
		}
		r.refuseValue(path, hint, "should be %s, but is %s", words, describeNode(n))
		return
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		r.refuseValue(path, "write a smaller one", "%s is too large", n.Value)
	}
}

func (r *reader) decodeDuration(n *yaml.Node, v reflect.Value, path string) {
	const hint = `write it with its unit, as in "90s", "5m", "1h30m" or "7d"`
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.Value != "0" {
		r.refuseValue(path, hint, "should be a duration, but is %s", describeNode(n))
		return
	}
	d, err := text.ParseDuration(n.Value)
	if err != nil {
		r.refuseValue(path, hint, "%q is not a duration", n.Value)
		return
	}
	v.SetInt(int64(d))
}

func joinPath(path, key string) string { return yamldoc.JoinPath(path, giturl.Redact(key)) }

func describeNode(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!float" {
		return "a number with decimals or too large"
	}
	return yamldoc.DescribeType(n)
}

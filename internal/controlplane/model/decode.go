package model

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// decoder reads YAML nodes into the spec structs of the kinds, strictly: an unknown field
// is a problem. A field's name is its `yaml` tag;
// `required:"true"` wants it to be there (it may be empty), and `required:"whole"` does so of the whole object
// if that has parts in several files.
type decoder struct {
	layer, file string
	subject     string
	problems    *problem.List
	root        *yaml.Node // the object
	// budget bounds the nodes that are visited, so that aliases that multiply
	// cannot eat the machine.
	budget int
	// foreign is true if the object is of CloudKnit's kinds, some of which have the names of others.
	foreign bool
	// pruned is true if an API server drops unknown fields of the kind: one that is null changes nothing.
	pruned bool
	// missing takes what is required of the whole object, in place of problems: another part of it may have
	// that. nil if there is no other part.
	missing *problem.List
	// folded is true if Flux delivers folded texts (>) as kustomize writes them.
	folded bool
}

// nodeBudget is far above what a control plane's largest object needs.
const nodeBudget = 1_000_000

// verbatimText is text that is taken as it was written even where YAML sees a number:
// a commit id may consist of digits only.
type verbatimText string

var verbatimType = reflect.TypeFor[verbatimText]()

func (d *decoder) positionOf(n *yaml.Node) problem.Pos {
	return problem.Pos{Layer: d.layer, File: d.file, Line: n.Line}
}

func (d *decoder) addProblem(n *yaml.Node, hint, format string, args ...any) {
	if kind, _, _ := strings.Cut(d.subject, "/"); hint == "" && !d.foreign && (isKind(kind, Kinds) || isKind(kind, OwnKinds) || isKind(kind, ClaudieKinds) || kind == "ConfigMap") {
		hint = "fairlead schema " + kind + " prints what it may hold"
	} else if schema := stackSchemas[kind]; hint == "" && d.foreign && schema != "" {
		hint = "fairlead schema " + schema + " prints what it may hold"
	}
	d.problems.Addf(d.positionOf(n), d.subject, hint, format, args...)
}

func (d *decoder) decodeValue(n *yaml.Node, v reflect.Value, path string) {
	n = yamldoc.ResolveAlias(n)
	if !d.spendBudget(1) {
		return
	}
	if v.Type() == reflect.TypeFor[yaml.Node]() {
		v.Set(reflect.ValueOf(*n))
		return
	}
	if yamldoc.IsNull(n) && v.Type() == reflect.TypeFor[locatedText]() {
		v.Set(reflect.ValueOf(locatedText{Line: n.Line}))
		return
	}
	if yamldoc.IsNull(n) {
		return
	}
	if d.decodeSpecial(n, v, path) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(d.decodeText(n, path, v.Type() == verbatimType))
	case reflect.Struct:
		d.decodeStruct(n, v, path)
	case reflect.Map:
		if v.Type() == reflect.TypeFor[annotations]() {
			d.decodeAnnotations(n, v, path)
			return
		}
		d.decodeMap(n, v, path)
	case reflect.Slice:
		d.decodeList(n, v, path)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decodeValue(n, v.Elem(), path)
	default:
		panic(fmt.Sprintf("model: a spec struct has a field of type %s, which the decoder does not know", v.Type()))
	}
}

// decodeSpecial fills what is not text, in kinds that Kalypso does not have, and reports
// whether v is of such a type.
func (d *decoder) decodeSpecial(n *yaml.Node, v reflect.Value, path string) bool {
	switch v.Interface().(type) {
	case bool:
		if on := n.Value == "true"; n.ShortTag() == "!!bool" && (on || n.Value == "false") {
			v.SetBool(on)
		} else {
			d.addProblem(n, "write true or false", "%s should be a boolean, but is %s", path, yamldoc.DescribeType(n))
		}
	case int:
		number, err := strconv.Atoi(n.Value)
		if n.ShortTag() != "!!int" || err != nil || number < 0 {
			d.addProblem(n, "", "%s should be a whole number, but is %s", path, showNode(n))
			return true
		}
		v.SetInt(int64(number))
	case time.Duration:
		length, err := text.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || length < 0 {
			d.addProblem(n, "write a duration such as 30m, 4h or 3d", "%s should be a duration, but is %s", path, showNode(n))
			return true
		}
		v.SetInt(int64(length))
	case time.Time:
		at, err := time.Parse(time.RFC3339, n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			d.addProblem(n, "write it as 2026-12-24T08:00:00Z", "%s should be a time with its zone, but is %s", path, showNode(n))
			return true
		}
		v.Set(reflect.ValueOf(at))
	default:
		return false
	}
	return true
}

// showNode returns the quoted text of a short scalar, and the type of any other node.
func showNode(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && len(n.Value) <= maxShown {
		return strconv.Quote(n.Value)
	}
	return yamldoc.DescribeType(n)
}

// spendBudget takes n nodes off the budget. It returns false if the budget is used up, which it
// reports once.
func (d *decoder) spendBudget(n int) bool {
	if d.budget < 0 {
		return false
	}
	d.budget -= n
	if d.budget < 0 {
		d.addProblem(d.root, "write it out, or make it smaller", "the object is too large, or its YAML aliases expand to too much")
	}
	return d.budget >= 0
}

func (d *decoder) decodeStruct(n *yaml.Node, v reflect.Value, path string) {
	if v.Type() == reflect.TypeFor[locatedText]() {
		v.Set(reflect.ValueOf(locatedText{Text: d.decodeText(n, path, false), Line: textLine(n)}))
		return
	}
	if n.Kind != yaml.MappingNode {
		d.addProblem(n, "", "%s should be a mapping, but is %s", path, yamldoc.DescribeType(n))
		return
	}
	fields := yamldoc.FieldsOf(v.Type())
	seen := map[string]bool{}
	braces := n.Style&yaml.FlowStyle != 0
	for key, value := range d.uniquePairs(n) {
		f, ok := fields.Find(key.Value)
		if !ok && d.pruned && yamldoc.IsNull(value) {
			d.problems.Warnf(d.positionOf(key), d.subject, "remove it", "%s has no field %q; it is null, and has no effect", cmp.Or(path, "the object"), key.Value)
			continue
		}
		if !ok {
			d.addProblem(key, fields.HintFor(key.Value, "its fields are "), "%s has no field %q", cmp.Or(path, "the object"), key.Value)
			continue
		}
		seen[key.Value] = true
		into := yamldoc.JoinPath(path, key.Value)
		if yamldoc.IsNull(value) && d.refusesNull(value, f, braces, into) {
			continue
		}
		d.decodeValue(value, v.FieldByIndex(f.Index), into)
	}
	for _, f := range fields {
		if isRequired(f) && !seen[yamldoc.KeyOf(f)] {
			d.addMissing(n, f, yamldoc.JoinPath(path, yamldoc.KeyOf(f)))
		}
	}
}

func (d *decoder) addMissing(n *yaml.Node, f reflect.StructField, path string) {
	to := *d
	if d.missing != nil && f.Tag.Get("required") == "whole" {
		to.problems = d.missing
	}
	to.addProblem(n, "", "%s is required", path)
}

func isRequired(f reflect.StructField) bool { return f.Tag.Get("required") != "" }

// locatedText is a text that remembers where it begins.
type locatedText struct {
	Text string
	Line int
}

func textLine(n *yaml.Node) int {
	switch isBlock := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0; {
	case isBlock && n.Line < 0: // of a blueprint
		return n.Line - 1
	case isBlock:
		return n.Line + 1
	}
	return n.Line
}

func (d *decoder) decodeMap(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.addProblem(n, "", "%s should be a mapping, but is %s", path, yamldoc.DescribeType(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range d.uniquePairs(n) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.decodeValue(value, item, yamldoc.JoinPath(path, key.Value))
		v.SetMapIndex(reflect.ValueOf(key.Value), item)
	}
}

func (d *decoder) decodeList(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.addProblem(n, "", "%s should be a list, but is %s", path, yamldoc.DescribeType(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.decodeValue(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// decodeText reads a scalar as Flux hands it to the API server: plain dates are time
// stamps and come out as RFC 3339; numbers and booleans stay what they are, and
// are refused.
func (d *decoder) decodeText(n *yaml.Node, path string, verbatim bool) string {
	n = yamldoc.ResolveAlias(n)
	if n.Kind != yaml.ScalarNode {
		d.addProblem(n, "", "%s should be text, but is %s", path, yamldoc.DescribeType(n))
		return ""
	}
	if c, ok := refusedCharacter(n.Value); ok {
		d.addProblem(n, "remove it", "%s contains the character %U, which Flux does not accept", path, c)
	}
	if len(n.Value) > maxText {
		d.addProblem(n, "Kubernetes refuses objects over 1 MiB", "%s is %d bytes long, which is over %d", path, len(n.Value), maxText)
		return n.Value[:maxShown] // so that it is not taken for missing
	}
	switch tag := n.ShortTag(); {
	case tag == "!!str" && d.folded && n.Style&yaml.FoldedStyle != 0:
		text, err := kustomize.FoldedText(n.Value)
		if err != nil {
			d.addProblem(n, "write it as a literal block (|), not a folded one (>)", "%s is a folded block (>) that Flux cannot deliver: %v", path, err)
		}
		return text
	case tag == "!!str" || tag == "!!merge" || verbatim || !strings.HasPrefix(tag, "!!"):
		return n.Value
	case tag == "!!binary":
		return d.decodeBinary(n, path)
	case tag == "!!null":
		return ""
	case tag == "!!timestamp":
		var t time.Time
		if err := n.Decode(&t); err == nil {
			return t.Format(time.RFC3339Nano)
		}
		return n.Value
	}
	d.addProblem(n, fmt.Sprintf("put it in quotes: %q", n.Value), "%s should be text, but %s is %s", path, n.Value, yamldoc.DescribeType(n))
	return ""
}

// maxText bounds one text: a Kubernetes object cannot be over 1 MiB. Of one that is
// longer, the beginning is kept.
const (
	maxText  = 1 << 20
	maxShown = 64
)

// uniquePairs yields the keys and values of a mapping, with those of merge keys (<<), and
// reports keys that are given twice.
func (d *decoder) uniquePairs(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]bool{}
		for _, p := range d.mergedPairs(n, nil) {
			if p.key.Kind != yaml.ScalarNode {
				d.addProblem(p.key, "", "a key should be text, but is %s", yamldoc.DescribeType(p.key))
				continue
			}
			if seen[p.key.Value] {
				if !p.merged {
					d.addProblem(p.key, "remove one of them", "the key %q is given twice", p.key.Value)
				}
				continue
			}
			seen[p.key.Value] = true
			d.checkKey(p.key)
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

type pair struct {
	key, value *yaml.Node
	merged     bool // came in by a merge key: the mapping's own keys win
}

// mergeCost is what merging one mapping into another takes off the budget: people do not
// merge thousands.
const mergeCost = 100

// mergedPairs lists the pairs of a mapping: its own, then those of merge keys. within
// are the mappings that are being merged into.
func (d *decoder) mergedPairs(n *yaml.Node, within []*yaml.Node) []pair {
	if !d.spendBudget(len(within)*mergeCost + len(n.Content)/2) {
		return nil
	}
	var own, taken []pair
	within = append(within, n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := yamldoc.ResolveAlias(n.Content[i]), yamldoc.ResolveAlias(n.Content[i+1])
		if key.ShortTag() != "!!merge" || value.Kind == yaml.ScalarNode {
			own = append(own, pair{key, value, len(within) > 1})
			continue
		}
		sources := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			sources = value.Content
		}
		for _, s := range sources {
			s = yamldoc.ResolveAlias(s)
			if slices.Contains(within, s) {
				d.addProblem(s, "write it out, or make it smaller", "a YAML alias refers to a node that contains it")
			} else if s.Kind == yaml.MappingNode {
				taken = append(taken, d.mergedPairs(s, within)...)
			}
		}
	}
	return append(own, taken...)
}

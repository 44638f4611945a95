package templatefunc

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mitchellh/hashstructure"
	"gopkg.in/yaml.v3"
)

func toYAML(v any) (string, error) {
	text, err := marshalYAML(v)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// stringifyValues returns YAML in which lists and maps are texts of YAML, fit for the
// data of a ConfigMap. Kalypso leaves parsed maps as maps.
func stringifyValues(v any) (string, error) {
	dict, ok := v.(map[string]any)
	if !ok {
		return toYAML(v)
	}
	texts := make(map[string]any, len(dict))
	for _, key := range slices.Sorted(maps.Keys(dict)) { // for a stable error
		value := dict[key]
		texts[key] = value
		switch value.(type) {
		case []any, []string, []int, map[string]any, map[any]any, map[string]string:
			text, err := marshalYAML(value)
			if err != nil {
				return "", err
			}
			texts[key] = text
		}
	}
	return toYAML(texts)
}

// hashValue returns Kalypso's hash in decimal; "" on error.
func hashValue(v any) string {
	sum, err := hashstructure.Hash(v, nil)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(sum, 10)
}

// unquoteText trims white space, then double quotes, then single quotes. Non-texts
// become "".
func unquoteText(v any) string {
	text, ok := v.(string)
	if !ok {
		return ""
	}
	return strings.Trim(strings.Trim(strings.TrimSpace(text), `"`), `'`)
}

func marshalYAML(v any) (string, error) {
	var found oddities
	found.inspectValue(v)
	if found.unsorted {
		return "", fmt.Errorf("the key %q cannot be sorted among the others of its map", found.key)
	}
	if found.maybeLossy || found.overflow {
		v = quoteLossy(v, nil)
	}
	out, err := yaml.Marshal(v)
	if err != nil {
		return "", nil
	}
	return string(out), nil
}

// quotedText is a text that yaml.v3 must double-quote to read it back.
type quotedText string

func (q quotedText) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: string(q)}, nil
}

// maybeLossy reports whether yaml.v3 might not read a text back: it loses newlines at
// the start, and cannot read some texts that start with white space. Single lines are
// safe.
func maybeLossy(text string) bool {
	return text != "" && strings.Contains(" \t\n", text[:1]) && strings.Contains(text, "\n")
}

type container struct {
	list bool
	key  any
}

// isLossy reports whether a text does not read back as a value or key. That depends on
// its surroundings: yaml.v3 writes a wrong indentation indicator in a mapping in a
// list.
func isLossy(text string, around []container, asKey bool) bool {
	if !maybeLossy(text) {
		return false
	}
	var alone, back any = text, nil
	if asKey {
		alone = map[string]any{text: nil}
	}
	for _, s := range slices.Backward(around) {
		if s.list {
			alone = []any{alone}
		} else {
			alone = map[any]any{s.key: alone}
		}
	}
	out, err := yaml.Marshal(alone)
	if err != nil {
		return false
	}
	if yaml.Unmarshal(out, &back) != nil {
		return true
	}
	back = unwrapValue(back, len(around))
	if asKey {
		key, ok := back.(map[string]any)
		_, same := key[text]
		return !ok || !same
	}
	return back != any(text)
}

// unwrapValue unwraps nested lists and maps of one element; nil if there are fewer.
func unwrapValue(v any, depth int) any {
	for range depth {
		var inside any
		switch v := v.(type) {
		case []any:
			if len(v) > 0 {
				inside = v[0]
			}
		case map[string]any:
			for _, inside = range v {
			}
		case map[any]any:
			for _, inside = range v {
			}
		}
		v = inside
	}
	return v
}

// oddities are properties that yaml.v3 does not write well.
type oddities struct {
	maybeLossy bool // a text or key might not read back
	// overflow is set if yaml.v3 misorders keys with long numbers, differently in each
	// run.
	overflow bool
	// unsorted is set if yaml.v3 leaves keys in random order: it treats bytes that are
	// not UTF-8 as equal, and NaN as equal to any number. key is the first such key.
	unsorted bool
	key      string
}

func (o *oddities) inspectValue(v any) {
	switch v := v.(type) {
	case string:
		o.maybeLossy = o.maybeLossy || maybeLossy(v)
	case []any:
		for _, e := range v {
			o.inspectValue(e)
		}
	case []string:
		for _, e := range v {
			o.inspectValue(e)
		}
	case map[string]any:
		inspectMap(o, v)
	case map[string]string:
		inspectMap(o, v)
	case map[any]any:
		inspectMap(o, v)
	}
}

func inspectMap[K comparable, V any](o *oddities, m map[K]V) {
	for k, v := range m {
		o.inspectValue(v)
		switch k := any(k).(type) {
		case string:
			o.maybeLossy = o.maybeLossy || maybeLossy(k)
			o.overflow = o.overflow || hasLongNumber(k)
			if !utf8.ValidString(k) && len(m) > 1 {
				o.noteUnsorted(k)
			}
		case float64:
			if math.IsNaN(k) && len(m) > 1 {
				o.noteUnsorted("NaN")
			}
		}
	}
}

func (o *oddities) noteUnsorted(key string) {
	if !o.unsorted || key < o.key {
		o.unsorted, o.key = true, key
	}
}

func quoteLossy(v any, around []container) any {
	switch v := v.(type) {
	case string:
		if isLossy(v, around, false) {
			return quotedText(v)
		}
	case []any:
		return quoteList(v, around)
	case []string:
		return quoteList(v, around)
	case map[string]any:
		return quoteMap(v, around)
	case map[any]any:
		return quoteMap(v, around)
	case map[string]string:
		return quoteMap(v, around)
	}
	return v
}

func quoteList[E any](list []E, around []container) []any {
	around = append(slices.Clip(around), container{list: true})
	items := make([]any, len(list))
	for i, e := range list {
		items[i] = quoteLossy(e, around)
	}
	return items
}

func quoteMap[K comparable, V any](m map[K]V, around []container) any {
	items, inOrder := make(map[any]any, len(m)), true
	for k, v := range m {
		var key any = k
		text, isText := key.(string)
		if isText && isLossy(text, around, true) {
			key = quotedText(text)
		}
		items[key] = quoteLossy(v, append(slices.Clip(around), container{key: key}))
		if isText && hasLongNumber(text) {
			inOrder = false
		}
	}
	if inOrder {
		return items
	}
	return sortedMap(items)
}

type sortedMap map[any]any

func (m sortedMap) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, key := range slices.SortedFunc(maps.Keys(m), func(a, b any) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}) {
		var k, v yaml.Node
		if err := errors.Join(k.Encode(key), v.Encode(m[key])); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &k, &v)
	}
	return n, nil
}

// hasLongNumber reports a number of 19 or more digits, beyond what yaml.v3 compares, or
// a digit that is not ASCII.
func hasLongNumber(key string) bool {
	run := 0
	for _, r := range key {
		if !unicode.IsDigit(r) {
			run = 0
			continue
		}
		run++
		if run >= 19 || r > unicode.MaxASCII {
			return true
		}
	}
	return false
}

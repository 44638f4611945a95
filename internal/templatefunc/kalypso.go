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

// toYAML gives a value as YAML without the last newline, "" if it has none.
func toYAML(v any) (string, error) {
	text, err := marshal(v)
	if err != nil {
		return "", err
	}
	return limited(strings.TrimSuffix(text, "\n"))
}

// stringify gives a dictionary as YAML in which every value that is a list or a
// map is the text of its YAML, so that the result can be the data of a ConfigMap.
// It gives the YAML of anything else. Kalypso leaves parsed maps as maps.
func stringify(v any) (string, error) {
	dict, ok := v.(map[string]any)
	if !ok {
		return toYAML(v)
	}
	texts := make(map[string]any, len(dict))
	for _, key := range slices.Sorted(maps.Keys(dict)) { // sorted for the sake of the error
		value := dict[key]
		texts[key] = value
		if isCollection(value) {
			text, err := marshal(value)
			if err != nil {
				return "", err
			}
			texts[key] = text
		}
	}
	return toYAML(texts)
}

func isCollection(v any) bool {
	switch v.(type) {
	case []any, []string, []int, map[string]any, map[any]any, map[string]string:
		return true
	}
	return false
}

// hash gives a decimal number that equal values share, "" for what has none.
func hash(v any) string {
	sum, err := hashstructure.Hash(v, nil)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(sum, 10)
}

// unquote removes white space, then double quotes, then single quotes at both
// ends of a text. It gives "" for anything else.
func unquote(v any) string {
	text, ok := v.(string)
	if !ok {
		return ""
	}
	return strings.Trim(strings.Trim(strings.TrimSpace(text), `"`), `'`)
}

// marshal gives a value as YAML, "" on an error of yaml.v3.
func marshal(v any) (string, error) {
	var found oddities
	found.in(v, inMap)
	if found.unsorted {
		return "", fmt.Errorf("the key %q cannot be sorted among the others of its map", found.key)
	}
	if found.lossy || found.overflow {
		v = quoteLossy(v, inMap)
	}
	out, err := yaml.Marshal(v)
	if err != nil {
		return "", nil
	}
	return string(out), nil
}

// quoted is a text that yaml.v3 does not write so that it reads back; in double
// quotes it does.
type quoted string

func (q quoted) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: string(q)}, nil
}

// place is where in a structure a text stands.
type place int

const (
	inMap place = iota
	inList
	asKey
)

// isLossy reports whether a text might not read back from what yaml.v3 writes. It
// loses a newline at the beginning of a text, and cannot read some that begin with
// white space; where that depends on what is around, as for keys and items of
// lists, all of them are taken for lossy. Only a text of several lines can be one.
func isLossy(text string, at place) bool {
	if text == "" || !strings.Contains(" \t\n", text[:1]) || !strings.Contains(text, "\n") {
		return false
	}
	if at != inMap {
		return true
	}
	out, err := yaml.Marshal(map[string]string{"k": text})
	var back map[string]string
	return err == nil && (yaml.Unmarshal(out, &back) != nil || back["k"] != text)
}

// oddities are what yaml.v3 does not write well.
type oddities struct {
	lossy bool // a text is there that would not read back, maybe as a key
	// overflow says that keys have numbers in them which yaml.v3 compares wrongly,
	// in an order that differs from run to run.
	overflow bool
	// unsorted says that a map has keys that yaml.v3 leaves in the random order of
	// Go's maps: it takes all bytes that are not UTF-8 for equal, and NaN for equal
	// to every number. The key is the first of them.
	unsorted bool
	key      string
}

// in looks for oddities in a value.
func (o *oddities) in(v any, at place) {
	switch v := v.(type) {
	case string:
		o.lossy = o.lossy || isLossy(v, at)
	case []any:
		for _, e := range v {
			o.in(e, inList)
		}
	case []string:
		for _, e := range v {
			o.in(e, inList)
		}
	case map[string]any:
		for k, e := range v {
			o.inKey(k, len(v), utf8.ValidString(k))
			o.in(e, inMap)
		}
	case map[string]string:
		for k, e := range v {
			o.inKey(k, len(v), utf8.ValidString(k))
			o.in(e, inMap)
		}
	case map[any]any:
		for k, e := range v {
			switch k := k.(type) {
			case string:
				o.inKey(k, len(v), utf8.ValidString(k))
			case float64:
				o.inKey("NaN", len(v), !math.IsNaN(k))
			}
			o.in(e, inMap)
		}
	}
}

// inKey looks at a key of a map of so many.
func (o *oddities) inKey(key string, of int, sortable bool) {
	o.lossy = o.lossy || isLossy(key, asKey)
	o.overflow = o.overflow || overflows(key)
	if sortable || of == 1 {
		return
	}
	if !o.unsorted || key < o.key {
		o.unsorted, o.key = true, key
	}
}

// quoteLossy gives the value with its lossy texts as quoted, and with nothing else
// that shows in YAML changed.
func quoteLossy(v any, at place) any {
	switch v := v.(type) {
	case string:
		if isLossy(v, at) {
			return quoted(v)
		}
	case []any:
		return quoteList(v)
	case []string:
		return quoteList(v)
	case map[string]any:
		return quoteMap(v)
	case map[any]any:
		return quoteMap(v)
	case map[string]string:
		return quoteMap(v)
	}
	return v
}

func quoteList[E any](list []E) []any {
	items := make([]any, len(list))
	for i, e := range list {
		items[i] = quoteLossy(e, inList)
	}
	return items
}

// quoteMap leaves the order of the keys to yaml.v3, unless that has none.
func quoteMap[K comparable, V any](m map[K]V) any {
	items, inOrder := make(map[any]any, len(m)), true
	for k, v := range m {
		key := quoteLossy(k, asKey)
		items[key] = quoteLossy(v, inMap)
		if text, ok := any(k).(string); ok && overflows(text) {
			inOrder = false
		}
	}
	if inOrder {
		return items
	}
	return byBytes(items)
}

// byBytes is a map that is written with its keys in the order of their bytes.
type byBytes map[any]any

func (m byBytes) MarshalYAML() (any, error) {
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

// overflows reports whether a key has a number of 19 digits or more, which is over
// what yaml.v3 can compare, or a digit that is not ASCII.
func overflows(key string) bool {
	run := 0
	for _, r := range key {
		if !unicode.IsDigit(r) {
			run = 0
			continue
		}
		if run++; run >= 19 || r > unicode.MaxASCII {
			return true
		}
	}
	return false
}

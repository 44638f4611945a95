package templatefunc

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
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
	found.in(v)
	if found.unsorted {
		return "", fmt.Errorf("the key %q cannot be sorted among the others of its map", found.key)
	}
	if found.newlines {
		v = quoteNewlines(v)
	}
	out, err := yaml.Marshal(v)
	if err != nil {
		return "", nil
	}
	return string(out), nil
}

// newlines is a text of newlines only. yaml.v3 writes it as a block that reads
// back with one newline less; in quotes it keeps them all.
type newlines string

func (n newlines) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: string(n)}, nil
}

func isNewlines(text string) bool {
	return text != "" && strings.Trim(text, "\n") == ""
}

// oddities are what yaml.v3 does not write well.
type oddities struct {
	newlines bool // a text of newlines only is there, maybe as a key
	// unsorted says that a map has keys that yaml.v3 leaves in the random order of
	// Go's maps: it takes all bytes that are not UTF-8 for equal, and NaN for equal
	// to every number. The key is the first of them.
	unsorted bool
	key      string
}

// in looks for oddities in a value.
func (o *oddities) in(v any) {
	switch v := v.(type) {
	case string:
		o.newlines = o.newlines || isNewlines(v)
	case []any:
		for _, e := range v {
			o.in(e)
		}
	case []string:
		o.newlines = o.newlines || slices.ContainsFunc(v, isNewlines)
	case map[string]any:
		for k, e := range v {
			o.inKey(k, len(v), utf8.ValidString(k))
			o.in(e)
		}
	case map[string]string:
		for k, e := range v {
			o.inKey(k, len(v), utf8.ValidString(k))
			o.newlines = o.newlines || isNewlines(e)
		}
	case map[any]any:
		for k, e := range v {
			switch k := k.(type) {
			case string:
				o.inKey(k, len(v), utf8.ValidString(k))
			case float64:
				o.inKey("NaN", len(v), !math.IsNaN(k))
			}
			o.in(e)
		}
	}
}

// inKey looks at a key of a map of so many.
func (o *oddities) inKey(key string, of int, sortable bool) {
	o.newlines = o.newlines || isNewlines(key)
	if sortable || of == 1 {
		return
	}
	if !o.unsorted || key < o.key {
		o.unsorted, o.key = true, key
	}
}

// quoteNewlines gives the value with its texts of newlines as newlines, and with
// nothing else that shows in YAML changed.
func quoteNewlines(v any) any {
	switch v := v.(type) {
	case string:
		if isNewlines(v) {
			return newlines(v)
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
	quoted := make([]any, len(list))
	for i, e := range list {
		quoted[i] = quoteNewlines(e)
	}
	return quoted
}

func quoteMap[K comparable, V any](m map[K]V) map[any]any {
	quoted := make(map[any]any, len(m))
	for k, v := range m {
		quoted[quoteNewlines(k)] = quoteNewlines(v)
	}
	return quoted
}

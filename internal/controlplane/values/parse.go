package values

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yaml2 "gopkg.in/yaml.v2"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/panics"
)

// parseValue reads a value as Kalypso does: single-quoted text stays text, YAML lists
// and mappings (YAML 1.1, go-yaml v2) become structures, and all else is verbatim text.
// Unlike in Kalypso, text of which YAML would lose a part (several documents, duplicate
// keys, integers over 64 bits) stays text.
func parseValue(text string) parsedValue {
	trimmed := strings.TrimSpace(text)
	if unquoted, ok := unquoteText(trimmed); ok {
		return parsedValue{value: unquoted}
	}
	if !strings.ContainsAny(trimmed, ":-[{?") { // needed by every YAML list or mapping
		return parsedValue{value: text}
	}
	var structure any
	err := panics.RunLibrary("the YAML reader", func() error { return yaml2.Unmarshal([]byte(text), &structure) })
	if err != nil {
		return parsedValue{value: text, bomb: strings.Contains(err.Error(), "excessive aliasing")}
	}
	switch structure.(type) {
	case map[any]any, []any:
	default:
		return parsedValue{value: text}
	}
	kept, comments := findLoss(text)
	if kept != "" {
		return parsedValue{value: text, kept: kept}
	}
	return parsedValue{value: structure, comments: comments}
}

type parsedValue struct {
	value    any
	kept     string // reason why YAML-like text stayed text
	comments bool   // had comments, which are lost
	bomb     bool   // has multiplying aliases
}

// unquoteText trims all single quotes at both ends. Doubled quotes inside stay; with a
// single one inside, the text only looks quoted: 'a': 1, 'b'.
func unquoteText(trimmed string) (string, bool) {
	if len(trimmed) < 2 || trimmed[0] != '\'' || trimmed[len(trimmed)-1] != '\'' {
		return "", false
	}
	inner := strings.Trim(trimmed, "'")
	if inner == "" && len(trimmed)%2 == 0 {
		return strings.Repeat("'", (len(trimmed)-2)/2), true
	}
	if strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") {
		return "", false
	}
	return inner, true
}

// findLoss returns what reading text as one YAML value would lose, and whether it has
// comments.
func findLoss(text string) (data string, comments bool) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var first, second yaml.Node
	if decoder.Decode(&first) != nil {
		return "", false
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return "it holds more than one YAML document", false
	case !errors.Is(err, io.EOF):
		kind := "mapping"
		if first.Content[0].Kind == yaml.SequenceNode {
			kind = "list"
		}
		return "it begins with a " + kind + ", and the text behind that would be lost", false
	}
	return findLossIn(&first), hasComments(&first)
}

func hasComments(n *yaml.Node) bool {
	return n.HeadComment+n.LineComment+n.FootComment != "" || slices.ContainsFunc(n.Content, hasComments)
}

func findLossIn(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && isLongInteger(n) {
		return "the integer " + n.Value + " is over 64 bits and would lose digits"
	}
	if n.Kind == yaml.MappingNode {
		seen := map[mappingKey]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				continue
			}
			if seen[keyOf(key)] {
				return "it has the key " + key.Value + " twice"
			}
			seen[keyOf(key)] = true
		}
	}
	for _, c := range n.Content {
		if kept := findLossIn(c); kept != "" {
			return kept
		}
	}
	return ""
}

// mappingKey distinguishes 1 from "1".
type mappingKey struct {
	text  string
	value any // in YAML 1.1
}

func keyOf(n *yaml.Node) mappingKey {
	key := mappingKey{text: n.Value, value: n.Value}
	if n.Style != 0 { // quoted, or with a tag
		return key
	}
	var plain any
	if err := yaml2.Unmarshal([]byte(n.Value), &plain); err == nil && (plain == nil || reflect.TypeOf(plain).Comparable()) {
		key.value = plain
	}
	return key
}

func isLongInteger(n *yaml.Node) bool {
	digits := strings.TrimLeft(n.Value, "+-")
	if n.Style != 0 || len(digits) < 19 || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	_, signed := strconv.ParseInt(n.Value, 10, 64)
	_, unsigned := strconv.ParseUint(n.Value, 10, 64)
	return signed != nil && unsigned != nil
}

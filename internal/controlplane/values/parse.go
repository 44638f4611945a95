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

// parseValue reads the text of one value as Kalypso does: text in single quotes stays
// text; a YAML list or mapping (YAML 1.1, go-yaml v2) becomes a structure; all
// else is text as it stands, white space included.
//
// It differs where Kalypso loses data: the text of which YAML would keep a part
// only (several documents, a key given twice, an integer over 64 bits) stays text.
func parseValue(text string) parsedValue {
	trimmed := strings.TrimSpace(text)
	if unquoted, ok := unquoteText(trimmed); ok {
		return parsedValue{value: unquoted}
	}
	if !strings.ContainsAny(trimmed, ":-[{?") { // every YAML list or mapping has one of these
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

// parsedValue is what became of the text of a value.
type parsedValue struct {
	value    any
	kept     string // why it stayed text although it looks like YAML
	comments bool   // it had comments, which are not part of the value
	bomb     bool   // it has aliases that multiply
}

// unquoteText takes the single quotes off a text that is quoted: all of them at both
// ends. Quotes inside are doubled, as YAML has it, and stay so; a text with a
// single one inside, such as 'a': 1, 'b', only looks quoted.
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

// findLoss returns what would be lost of the text in reading it as one YAML value, "" if nothing
// would, and whether it has comments.
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

// mappingKey identifies a key: 1 and "1" are two keys.
type mappingKey struct {
	text  string
	value any // as YAML 1.1 has it
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

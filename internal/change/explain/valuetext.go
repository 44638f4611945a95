package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

func jsonValue(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[fmt.Sprint(key)] = jsonValue(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = jsonValue(value)
		}
		return out
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Sprint(v)
		}
	}
	return v
}

// maxValue is in characters.
const maxValue = 72

// compactText returns a shortened value on one line: plain clear text, else JSON.
func compactText(v any) string {
	s, isText := v.(string)
	if !isText || !isClear(s) {
		s = asJSON(v)
	}
	return text.Limit(s, maxValue)
}

func asJSON(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isClear reports whether a text needs no quotes: one line without hidden characters
// that does not look like JSON.
func isClear(s string) bool {
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsAny(s[:1], `"[{`) {
		return false
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return false
		}
	}
	return true
}

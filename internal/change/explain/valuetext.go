package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// jsonValue converts a value that YAML was decoded to, such that JSON can encode it.
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

// maxValue bounds the value that is shown, in characters.
const maxValue = 72

// compactText returns a value on one line: a text as it is if that is one clear line,
// everything else as JSON with sorted keys. It cuts long values.
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

// isClear reports whether a text can be shown without quotes: one line, with
// nothing hidden in it, that cannot be taken for JSON.
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

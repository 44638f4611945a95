package templatefunc

import (
	"strings"
	"unicode"
)

// camelCase is ToCamelCase of xstrings 1.4, which Kalypso has. Helm needs version 1.5, where it begins with a small letter.
func camelCase(text string) string {
	letters := []rune(text)
	start := 0
	for start < len(letters) && isConnector(letters[start]) {
		start++
	}
	if text == "" {
		return ""
	}
	if start == len(letters) {
		return text + string(letters[start-1])
	}
	var b strings.Builder
	b.WriteString(string(letters[:start]))
	last := unicode.ToUpper(letters[start])
	for _, r := range letters[start+1:] {
		switch {
		case isConnector(r) && isConnector(last):
			b.WriteRune(last)
		case isConnector(last):
			r = unicode.ToUpper(r)
		default:
			b.WriteRune(last)
		}
		last = r
	}
	b.WriteRune(last)
	return b.String()
}

func isConnector(r rune) bool { return r == '-' || r == '_' || unicode.IsSpace(r) }

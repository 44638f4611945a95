package templatefunc

import (
	"errors"
	"strings"
)

// indentWith writes start, then spaces before every line, even if empty.
func indentWith(start string, spaces int, text string) (string, error) {
	if spaces < 0 {
		return "", errors.New("the number of spaces is negative")
	}
	lines := 1 + strings.Count(text, "\n")
	if spaces > maxText/lines || len(start)+spaces*lines+len(text) > maxText {
		return "", errText
	}
	pad := strings.Repeat(" ", spaces)
	var b strings.Builder
	b.Grow(len(start) + spaces*lines + len(text))
	b.WriteString(start)
	for line := range strings.Lines(text) {
		b.WriteString(pad)
		b.WriteString(line)
	}
	if text == "" || strings.HasSuffix(text, "\n") {
		b.WriteString(pad)
	}
	return b.String(), nil
}

func boundJoin(texts func(any) []string) func(string, any) (string, error) {
	return func(separator string, list any) (string, error) {
		parts := texts(list)
		size := max(0, len(parts)-1) * len(separator)
		for _, part := range parts {
			size += len(part)
		}
		if size > maxText {
			return "", errText
		}
		return strings.Join(parts, separator), nil
	}
}

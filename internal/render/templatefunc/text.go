package templatefunc

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// boundText returns a function of sprig with a bounded result, if its result is a text;
// any other function unchanged.
func boundText(f any) any {
	switch f := f.(type) {
	case func(string) string:
		return boundUnary(f, nil)
	case func(any) string:
		return boundUnary(f, nil)
	case func(map[string]any) string:
		return boundUnary(f, nil)
	case func(string, string) string:
		return boundBinary(f, nil)
	case func(int, string) string:
		return boundBinary(f, nil)
	case func(string, string, int) string:
		return boundTernary(f, nil)
	case func(int, int, string) string:
		return boundTernary(f, nil)
	case func(...any) string:
		return boundVariadic(f)
	}
	return f
}

// boundedTexts returns the functions whose result may be far longer than their arguments,
// so that its size is checked first, and those of text/template.
func boundedTexts(base template.FuncMap) template.FuncMap {
	return template.FuncMap{
		"repeat":   boundBinary(base["repeat"].(func(int, string) string), checkRepeat),
		"indent":   indentLines,
		"nindent":  indentAfterNewline,
		"replace":  boundTernary(base["replace"].(func(string, string, string) string), checkReplace),
		"join":     boundJoin(base["toStrings"].(func(any) []string)),
		"wrapWith": boundTernary(base["wrapWith"].(func(int, string, string) string), checkWrap),

		"print":    boundVariadic(fmt.Sprint),
		"println":  boundVariadic(fmt.Sprintln),
		"printf":   boundedPrintf,
		"html":     boundVariadic(template.HTMLEscaper),
		"js":       boundVariadic(template.JSEscaper),
		"urlquery": boundVariadic(template.URLQueryEscaper),
	}
}

func checkRepeat(count int, text string) error {
	if text != "" && count > maxText/len(text) {
		return errText
	}
	return nil
}

// indentLines puts spaces before every line, empty ones too.
func indentLines(spaces int, text string) (string, error) {
	return indentWith("", spaces, text)
}

// indentAfterNewline is indent after a newline.
func indentAfterNewline(spaces int, text string) (string, error) {
	return indentWith("\n", spaces, text)
}

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

func checkReplace(old, with, text string) error {
	if len(text)+strings.Count(text, old)*(len(with)-len(old)) > maxText {
		return errText
	}
	return nil
}

// boundJoin writes the elements of a list, as texts, with a separator between them.
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

func checkWrap(_ int, separator, text string) error {
	if len(text)*len(separator) > maxEffort {
		return errEffort
	}
	return nil
}

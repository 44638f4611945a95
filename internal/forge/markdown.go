package forge

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	cutNote  = "*The rest is cut off: it is more than the forge takes.*"
	longLine = 400
)

// FitMarkdown cuts Markdown to limit characters, at the end of a line if possible. It closes open
// code blocks, <details> and hidden comments, and adds a note.
func FitMarkdown(body string, limit int) string {
	if utf8.RuneCountInString(body) <= limit {
		return body
	}
	var open, then nesting // after all lines read, and all lines kept
	read, kept, left, room := 0, 0, limit, limit
	for line := range strings.Lines(body) {
		open, read, left = open.afterLine(line), read+len(line), left-utf8.RuneCountInString(line)
		if left < 0 {
			break
		}
		if utf8.RuneCountInString(open.closingText()) <= left {
			then, kept, room = open, read, left
		}
	}
	room -= utf8.RuneCountInString(then.closingText())
	if room < 0 {
		return string([]rune(cutNote)[:max(0, min(limit, len(cutNote)))])
	}
	next, _, _ := strings.Cut(body[kept:], "\n")
	text := strings.TrimRight(body[:kept]+then.cutLine(next, room), "\r\n")
	return strings.TrimLeft(text+then.closingText(), "\n")
}

type nesting struct {
	fence  string // fence of a code block; "" outside
	hidden bool
	raw    bool // in an HTML block, which is not Markdown up to an empty line
	tags   []string
}

var (
	fenceLine  = regexp.MustCompile("^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
	blockLine  = regexp.MustCompile(`(?i)^ {0,3}</?(details|summary)\b`)
	tagPattern = regexp.MustCompile(`(?i)<!--|<(/?)(details|summary)\b[^<>]*>`)
)

func (n nesting) afterLine(line string) nesting {
	line = strings.TrimRight(line, "\r\n")
	indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
	switch {
	case n.fence != "":
		if text := strings.TrimSpace(line); !indented && len(text) >= len(n.fence) && strings.Trim(text, n.fence[:1]) == "" {
			n.fence = ""
		}
		return n
	case n.hidden:
		return n.afterInline(line)
	case strings.TrimSpace(line) == "":
		n.raw = false
		return n
	case indented:
		return n
	}
	if m := fenceLine.FindStringSubmatch(line); m != nil && !n.raw {
		n.fence = m[1] + m[2]
		return n
	}
	n.raw = n.raw || blockLine.MatchString(line)
	if !n.raw {
		line = withoutCode(line)
	}
	return n.afterInline(line)
}

func (n nesting) afterInline(line string) nesting {
	for {
		if n.hidden {
			_, rest, ended := strings.Cut(line, "--"+">")
			if !ended {
				return n
			}
			n.hidden, line = false, rest
		}
		m := tagPattern.FindStringSubmatchIndex(line)
		if m == nil {
			return n
		}
		before, name := line[:m[0]], ""
		if m[4] >= 0 {
			name = strings.ToLower(line[m[4]:m[5]])
		}
		switch {
		case strings.HasSuffix(before, `\`):
		case name == "":
			n.hidden = true
		case m[2] == m[3]:
			n.tags = append(slices.Clone(n.tags), name)
		default: // closes inner tags too
			for i, tag := range slices.Backward(n.tags) {
				if tag == name {
					n.tags = slices.Clone(n.tags[:i])
					break
				}
			}
		}
		line = line[m[1]:]
	}
}

func withoutCode(line string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(line, "`")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		code := strings.TrimLeft(rest, "`")
		ticks := strings.Repeat("`", len(rest)-len(code)+1)
		if i := closingTicks(code, ticks); i >= 0 {
			code = code[i:]
		}
		line = code
	}
}

func closingTicks(code, ticks string) int {
	for at := 0; ; {
		i := strings.Index(code[at:], ticks)
		if i < 0 {
			return -1
		}
		at += i
		end := at + len(code[at:]) - len(strings.TrimLeft(code[at:], "`"))
		if end-at == len(ticks) {
			return end
		}
		at = end
	}
}

func (n nesting) closingText() string {
	var b strings.Builder
	if n.hidden {
		b.WriteString("\n--" + ">")
	}
	if n.fence != "" {
		b.WriteString("\n" + n.fence)
	}
	if len(n.tags) > 0 {
		b.WriteString("\n")
	}
	for _, name := range slices.Backward(n.tags) {
		b.WriteString("\n</" + name + ">")
	}
	return b.String() + "\n\n" + cutNote
}

// cutLine cuts a long line before anything that would need closing, or returns "" if little would
// remain.
func (n nesting) cutLine(line string, most int) string {
	text := []rune(line)
	if len(text) < longLine || most < longLine/2 {
		return ""
	}
	part := string(text[:min(len(text), most)-1])
	if i := strings.IndexAny(part, "<`[~"); i >= 0 && n.fence == "" {
		part = part[:i]
	}
	if strings.TrimSpace(part) == "" {
		return ""
	}
	return part + "…"
}

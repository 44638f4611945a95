package display

import (
	"html"
	"regexp"
	"strings"
)

var (
	comments  = regexp.MustCompile(`(?s)<!--.*?-->`)
	summaries = regexp.MustCompile(`<summary>(.*?)</summary>`)
	tags      = regexp.MustCompile(`</?(?:details|summary|sub|br)\b[^<>]*>`)
	heading   = regexp.MustCompile(`^#{1,6} +(.*)$`)
	alert     = regexp.MustCompile(`^\[!([A-Z]+)\]$`)
	ruler     = regexp.MustCompile(`^\|[-| :]+\|$`)
)

// FormatMarkdown returns a pull request's Markdown as text, without HTML and with details unfolded.
func (s *Stream) FormatMarkdown(body string) string {
	body = comments.ReplaceAllString(SanitizeLines(body), "")
	var b strings.Builder
	fence, language, blank := "", "", true
	var table [][]string
	var graph []string
	for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
		line = strings.TrimRight(line, " \r")
		if isRow := fence == "" && strings.HasPrefix(line, "|"); isRow {
			if !ruler.MatchString(line) {
				table = append(table, s.tableCells(line))
			}
			continue
		}
		s.writeTable(&b, table)
		blank, table = blank && table == nil, nil
		if mark := fenceMark(line); mark != "" && (fence == "" || line == fence) {
			if fence == "" {
				fence, language, graph = mark, strings.TrimLeft(line, "`~"), nil
				continue
			}
			fence = ""
			if language == "mermaid" {
				b.WriteString(formatMermaid(graph))
				blank = false
			}
			continue
		}
		if fence != "" && language == "mermaid" {
			graph = append(graph, line)
			continue
		}
		switch {
		case fence != "" && language == "diff":
			line = s.paintDiff(line)
		case fence == "":
			line = s.formatLine(line)
		}
		if line == "" && blank {
			continue
		}
		blank = line == ""
		b.WriteString(line + "\n")
	}
	s.writeTable(&b, table)
	return b.String()
}

func fenceMark(line string) string {
	for _, sign := range []string{"`", "~"} {
		if strings.HasPrefix(line, strings.Repeat(sign, 3)) {
			return line[:len(line)-len(strings.TrimLeft(line, sign))]
		}
	}
	return ""
}

func (s *Stream) formatLine(line string) string {
	quote := ""
	if rest, ok := strings.CutPrefix(line, ">"); ok {
		quote, line = "  ", strings.TrimPrefix(rest, " ")
	}
	if m := alert.FindStringSubmatch(line); m != nil {
		return quote + s.Paint(Yellow, m[1])
	}
	if m := heading.FindStringSubmatch(line); m != nil {
		return quote + s.Paint(Bold, s.formatInline(m[1]))
	}
	if m := summaries.FindStringSubmatch(line); m != nil {
		return quote + s.Paint(Bold, s.formatInline(m[1])+":")
	}
	return strings.TrimRight(quote+s.formatInline(tags.ReplaceAllString(line, "")), " ")
}

func (s *Stream) tableCells(line string) []string {
	var cells []string
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.TrimSpace(s.formatInline(cell)))
	}
	return cells
}

func (s *Stream) writeTable(b *strings.Builder, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	columns := make([]Column, len(rows[0]))
	for i := range rows {
		rows[i] = append(rows[i], make([]string, max(0, len(columns)-len(rows[i])))...)
	}
	b.WriteString(s.FormatTable(columns, rows))
}

// formatInline removes marks of code, bold text and links, and escapes.
func (s *Stream) formatInline(text string) string {
	var b strings.Builder
	for text != "" {
		run := len(text) - len(strings.TrimLeft(text, "`"))
		if run > 0 {
			code, rest, ok := strings.Cut(text[run:], text[:run])
			if !ok {
				code, rest = text, ""
			}
			b.WriteString(strings.TrimSpace(code))
			text = rest
			continue
		}
		if bold, rest, ok := strings.Cut(strings.TrimPrefix(text, "**"), "**"); ok && strings.HasPrefix(text, "**") {
			b.WriteString(s.Paint(Bold, s.formatInline(bold)))
			text = rest
			continue
		}
		if rest, ok := strings.CutPrefix(text, "<br>"); ok {
			b.WriteString(", ")
			text = rest
			continue
		}
		if label, url, rest, ok := cutLink(text); ok {
			b.WriteString(s.formatInline(label) + " (" + url + ")")
			text = rest
			continue
		}
		if len(text) > 1 && text[0] == '\\' && strings.IndexByte("\\`*_{}[]()<>#+-.!|~&@:", text[1]) >= 0 {
			b.WriteByte(text[1])
			text = text[2:]
			continue
		}
		end := 1 + strings.IndexAny(text[1:], "`*[\\<")
		if end == 0 {
			end = len(text)
		}
		b.WriteString(SanitizeLine(html.UnescapeString(text[:end])))
		text = text[end:]
	}
	return b.String()
}

func cutLink(text string) (label, url, rest string, ok bool) {
	if !strings.HasPrefix(text, "[") {
		return "", "", "", false
	}
	label, after, ok := strings.Cut(text[1:], "](")
	url, rest, closed := strings.Cut(after, ")")
	if !ok || !closed || strings.ContainsAny(label, "[]") || strings.ContainsAny(url, " \t") {
		return "", "", "", false
	}
	return label, url, rest, true
}

// PaintDiff colours a unified diff.
func (s *Stream) PaintDiff(diff string) string {
	if !s.colour {
		return diff
	}
	var b strings.Builder
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		b.WriteString(s.paintDiff(text) + line[len(text):])
	}
	return b.String()
}

func (s *Stream) paintDiff(line string) string {
	switch {
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return s.Paint(Bold, line)
	case strings.HasPrefix(line, "+"):
		return s.Paint(Green, line)
	case strings.HasPrefix(line, "-"):
		return s.Paint(Red, line)
	case strings.HasPrefix(line, "@@"):
		return s.Paint(Dim, line)
	}
	return line
}

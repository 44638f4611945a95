package display

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Column is a column of a table.
type Column struct {
	Heading string // "" for a table without headings
	Fit     Fit
	// Colour returns a cell's colour, or ""; it may be nil.
	Colour func(cell string) string
}

// Fit is how a column adapts to a narrow terminal.
type Fit int

// The ways to fit. Only output to terminals is shortened.
const (
	Keep    Fit = iota
	Shorten     // for descriptions: ends in an ellipsis
	Wrap        // for instructions: continues below
)

// minFlexible is the minimum width of a shrinking column.
const minFlexible = 16

// FormatTable returns rows below their headings, in columns that fit the stream.
func (s *Stream) FormatTable(columns []Column, rows [][]string) string {
	return strings.Join(s.FormatRows(columns, rows), "")
}

// FormatRows returns each row's lines, headings first if there are any.
func (s *Stream) FormatRows(columns []Column, rows [][]string) []string {
	headings := make([]string, len(columns))
	for i, c := range columns {
		headings[i] = c.Heading
	}
	named := slices.ContainsFunc(headings, func(h string) bool { return h != "" })
	if named {
		rows = append([][]string{headings}, rows...)
	}
	widths := fitWidths(columns, rows, s.Width())
	texts := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		s.writeRow(&b, columns, widths, row, named && i == 0)
		texts[i] = b.String()
	}
	return texts
}

// fitWidths shrinks the widest flexible columns until the table fits limit; 0 is unlimited.
func fitWidths(columns []Column, rows [][]string, limit int) []int {
	widths, total := make([]int, len(columns)), -2
	for i := range columns {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(SanitizeLine(row[i])))
		}
		if widths[i] > 0 {
			total += widths[i] + 2
		}
	}
	for ; limit > 0 && total > limit; total-- {
		widest := -1
		for i, c := range columns {
			if c.Fit != Keep && widths[i] > minFlexible && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func (s *Stream) writeRow(b *strings.Builder, columns []Column, widths []int, row []string, heading bool) {
	cells, lines := make([][]string, len(row)), 1
	for i, c := range columns {
		cells[i] = fitCell(SanitizeLine(row[i]), widths[i], c.Fit)
		lines = max(lines, len(cells[i]))
	}
	for n := range lines {
		var line strings.Builder
		pending := 0
		for i, c := range columns {
			cell := ""
			if n < len(cells[i]) {
				cell = cells[i][n]
			}
			width := utf8.RuneCountInString(cell)
			if cell != "" && c.Colour != nil && !heading {
				cell = s.Paint(c.Colour(row[i]), cell)
			}
			if cell != "" {
				line.WriteString(strings.Repeat(" ", pending) + cell)
				pending = 0
			}
			pending += widths[i] - width + 2
		}
		b.WriteString(line.String() + "\n")
	}
}

func fitCell(cell string, width int, fit Fit) []string {
	if utf8.RuneCountInString(cell) <= width {
		return []string{cell}
	}
	if fit == Shorten {
		return []string{string([]rune(cell)[:width-1]) + "…"}
	}
	return WrapText(cell, width)
}

// WrapText breaks text between words into lines of at most width characters. Longer words, such as
// URLs, stay whole.
func WrapText(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

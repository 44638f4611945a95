package explain

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Document is a human-readable answer.
type Document struct {
	Title    string    `json:"title"`
	Sections []Section `json:"sections"`
}

// Section is a part of a document. The first one may have no heading.
type Section struct {
	Heading string  `json:"heading,omitempty"`
	Tables  []Table `json:"tables,omitempty"`
}

// Table has aligned columns, indented by Depth steps. A line of text is a table of one
// cell.
type Table struct {
	Depth int      `json:"depth"`
	Rows  [][]Cell `json:"rows"`
}

// Cell is a text and its links.
type Cell struct {
	Text  string `json:"text"`
	Query string `json:"query,omitempty"` // explains the text; "" for none
	// At is the named position; zero for none.
	At problem.Pos `json:"at,omitzero"`
}

func newCell(of any) Cell {
	switch of := of.(type) {
	case Cell:
		return of
	case Object:
		return Cell{Text: of.Name, Query: of.cell().Query}
	case problem.Pos:
		return placeCell(of)
	}
	return Cell{Text: fmt.Sprint(of)}
}

func placeCell(at problem.Pos) Cell { return Cell{Text: at.String(), At: at} }

func (o Object) cell() Cell {
	c := Cell{Text: o.subject()}
	if slices.ContainsFunc(kinds, func(k kind) bool { return k.name == o.Kind }) {
		c.Query = c.Text
	}
	return c
}

// Text returns the document as indented and aligned text.
func (d Document) Text() string {
	var b strings.Builder
	b.WriteString(d.Title + "\n")
	for _, s := range d.Sections {
		if s.Heading != "" {
			b.WriteString("\n" + s.Heading + "\n")
		}
		for _, t := range s.Tables {
			t.writeText(&b)
		}
	}
	return b.String()
}

// writeText aligns columns. The last cell of a row does not widen its column.
func (t Table) writeText(b *strings.Builder) {
	var widths []int
	for _, row := range t.Rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	for _, row := range t.Rows {
		line := strings.Repeat("  ", t.Depth)
		for i, cell := range row {
			line += cell.Text
			if i < len(row)-1 {
				line += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// Package plaintext formats the answers of pages and commands as text.
//
// What the package keeps true: a page and its corresponding command print the same, with one
// function. Names and messages cannot move a terminal's cursor or begin a line.
package plaintext

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// Column is a column of a table. Key is its key in JSON, and the heading in capitals. Wide columns
// are only in wide tables.
type Column struct {
	Key    string
	Wide   bool
	People bool // programs have it in another column
	Fit    display.Fit
}

// Table is a table and the text around it.
type Table struct {
	Columns []Column
	Rows    [][]any
	// Empty replaces a table without rows; "" shows headings alone.
	Empty        string
	Above, Below string
	// Colour returns a cell's colour, or ""; it may be nil.
	Colour func(cell string) string
}

// Format returns the table for people.
func (t Table) Format(to *display.Stream, wide bool) string {
	if len(t.Rows) == 0 && t.Empty != "" {
		return t.Empty + t.Below
	}
	return t.Above + t.formatRows(to, wide) + t.Below
}

func (t Table) formatRows(to *display.Stream, wide bool) string {
	var columns []display.Column
	rows := make([][]string, len(t.Rows))
	for i, c := range t.Columns {
		if c.Wide && !wide {
			continue
		}
		columns = append(columns, display.Column{Heading: heading(c.Key), Fit: c.Fit, Colour: t.Colour})
		for n, row := range t.Rows {
			rows[n] = append(rows[n], FormatCell(row[i]))
		}
	}
	return to.FormatTable(columns, rows)
}

func heading(key string) string {
	var b strings.Builder
	for _, r := range key {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

// FormatCell returns a cell for people; "-" for an empty one.
func FormatCell(value any) string {
	cell := ""
	switch v := value.(type) {
	case map[string]string:
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !strings.HasPrefix(key, "kustomize.toolkit.fluxcd.io/") { // Flux adds these to all objects
				pairs = append(pairs, key+"="+v[key])
			}
		}
		cell = strings.Join(pairs, ",")
	case []string:
		cell = strings.Join(v, ",")
	default:
		cell = fmt.Sprint(v)
	}
	if cell == "" {
		return "-"
	}
	return cell
}

func formatTabled(a answer.Tabled, f Facts, to *display.Stream) string {
	columns, rows := a.Table()
	total, page := a.Count()
	t := Table{Columns: list.Convert(columns, func(key string) Column { return Column{Key: key} }), Empty: "there is nothing\n", Below: formatRest(len(rows), total, page)}
	if f.Filtered {
		t.Empty = "nothing is like that\n"
	}
	for _, row := range rows {
		t.Rows = append(t.Rows, list.Convert(row, func(cell any) any {
			if at, isTime := cell.(time.Time); isTime {
				return FormatTime(at)
			}
			return cell
		}))
	}
	return t.Format(to, false)
}

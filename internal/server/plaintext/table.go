// Package plaintext writes what the page and the commands say as text.
//
// What the package keeps true: where a page answers what a command does, both print the same, since both
// print with the same function; a name or a message cannot move a terminal's cursor or begin a line.
package plaintext

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// Column is a column of a table: its key in JSON, whether only wide tables show it, or those for people, and what
// becomes of it where the terminal is narrow. The heading is the key in capitals.
type Column struct {
	Key    string
	Wide   bool
	People bool // whether programs have it in another column
	Fit    display.Fit
}

// Table is a table, with what people read around it.
type Table struct {
	Columns []Column
	Rows    [][]any
	// Empty is what people read where there is no row; "" for a table with headings alone.
	Empty        string
	Above, Below string
	// Colour returns the colour of a cell, "" for none; nil for a table without colours.
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

// heading returns the heading of a column: "clusterTypes" is "CLUSTER TYPES".
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
			if !strings.HasPrefix(key, "kustomize.toolkit.fluxcd.io/") { // Flux gives them to all
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

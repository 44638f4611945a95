package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// column is a column of a listing: its key in JSON, whether only wide listings show it, and what
// becomes of it where the terminal is narrow. The heading is the key in capitals.
type column struct {
	key  string
	wide bool
	fit  display.Fit
}

// listing is a table for people, and a list of objects for programs.
type listing struct {
	columns []column
	rows    [][]any
	// names are those of the rows, as other commands take them; nil for the cells of the column that is
	// called name, or else of the first one.
	names []string
	// value is what programs get; nil for the rows as objects.
	value any
	// empty is what people read where there is no row; "" for a table with headings alone.
	empty string
	// above and below are what people read around the table.
	above, below string
	// colour returns the colour of a cell, "" for none; nil for a listing without colours.
	colour func(cell string) string
}

// printListing prints a listing in the format of --output.
func (a *app) printListing(l listing) error {
	if a.format == "csv" {
		return l.writeCSV(a.stdout)
	}
	value := l.value
	if value == nil {
		value = l.objects()
	}
	return a.printValue(value, l.rowNames(), func() string {
		if len(l.rows) == 0 && l.empty != "" {
			return l.empty + l.below
		}
		return l.above + l.tableText(a.stdout, a.format == "wide") + l.below
	})
}

// writeCSV writes the listing with all of its columns, and their keys in the first line.
func (l listing) writeCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	keys := make([]string, len(l.columns))
	for i, c := range l.columns {
		keys[i] = c.key
	}
	err := w.Write(keys)
	for _, row := range l.rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = display.SanitizeLine(csvText(value))
		}
		err = errors.Join(err, w.Write(cells))
	}
	w.Flush()
	return errors.Join(err, w.Error())
}

// csvText returns a cell for programs: what people read shortened is whole, and what is missing is "".
func csvText(value any) string {
	exact, ok := value.(interface{ exactText() string })
	if ok {
		return exact.exactText()
	}
	cell := cellText(value)
	if cell == "-" && fmt.Sprint(value) != "-" {
		return ""
	}
	return cell
}

// objects returns the rows as programs get them.
func (l listing) objects() []map[string]any {
	objects := []map[string]any{}
	for _, row := range l.rows {
		object := map[string]any{}
		for i, c := range l.columns {
			object[c.key] = row[i]
		}
		objects = append(objects, object)
	}
	return objects
}

func (l listing) rowNames() []string {
	if l.names != nil {
		return l.names
	}
	i := max(0, slices.IndexFunc(l.columns, func(c column) bool { return c.key == "name" }))
	var names []string
	for _, row := range l.rows {
		names = append(names, cellText(row[i]))
	}
	return names
}

// tableText returns the listing as a table.
func (l listing) tableText(to *display.Stream, wide bool) string {
	var columns []display.Column
	rows := make([][]string, len(l.rows))
	for i, c := range l.columns {
		if c.wide && !wide {
			continue
		}
		columns = append(columns, display.Column{Heading: heading(c.key), Fit: c.fit, Colour: l.colour})
		for n, row := range l.rows {
			rows[n] = append(rows[n], cellText(row[i]))
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

func cellText(value any) string {
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

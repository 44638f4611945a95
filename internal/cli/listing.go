package cli

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
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
		return l.table().WriteCSV(a.stdout)
	}
	value := l.value
	if value == nil {
		value = l.objects()
	}
	return a.printValue(value, l.rowNames(), func() string {
		return l.table().Format(a.stdout, a.format == "wide")
	})
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
		names = append(names, plaintext.FormatCell(row[i]))
	}
	return names
}

// table returns the listing as people read it.
func (l listing) table() plaintext.Table {
	return plaintext.Table{Columns: list.Convert(l.columns, func(c column) plaintext.Column { return plaintext.Column{Key: c.key, Wide: c.wide, Fit: c.fit} }), Rows: l.rows, Empty: l.empty, Above: l.above, Below: l.below, Colour: l.colour}
}

// newListing returns a table as a listing, for which programs get a value.
func newListing(t plaintext.Table, value any) listing {
	columns := list.Convert(t.Columns, func(c plaintext.Column) column { return column{key: c.Key, wide: c.Wide, fit: c.Fit} })
	return listing{value: value, columns: columns, rows: t.Rows, empty: t.Empty, above: t.Above, below: t.Below, colour: t.Colour}
}

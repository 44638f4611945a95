package cli

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/server/plaintext"
)

// column is a column of a listing. The heading is the JSON key in capitals.
type column struct {
	key  string
	wide bool
	fit  display.Fit
}

// listing is a table for people and objects for programs.
type listing struct {
	columns []column
	rows    [][]any
	// names are row names for other commands; nil means the column "name", or else the
	// first.
	names []string
	// value is the output for programs; nil means the rows.
	value any
	// empty replaces a table without rows; "" prints headings only.
	empty string
	// above and below surround the table.
	above, below string
	// colour returns the colour of a cell, or ""; it may be nil.
	colour func(cell string) string
}

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

func (l listing) table() plaintext.Table {
	return plaintext.Table{Columns: list.Convert(l.columns, func(c column) plaintext.Column { return plaintext.Column{Key: c.key, Wide: c.wide, Fit: c.fit} }), Rows: l.rows, Empty: l.empty, Above: l.above, Below: l.below, Colour: l.colour}
}

func newListing(t plaintext.Table, value any) listing {
	columns := list.Convert(t.Columns, func(c plaintext.Column) column { return column{key: c.Key, wide: c.Wide, fit: c.Fit} })
	return listing{value: value, columns: columns, rows: t.Rows, empty: t.Empty, above: t.Above, below: t.Below, colour: t.Colour}
}

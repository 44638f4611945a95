package plaintext

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// WriteCSV writes the table with all of its columns, and their keys in the first line.
func (t Table) WriteCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	var keys []string
	for _, c := range t.Columns {
		if !c.People {
			keys = append(keys, c.Key)
		}
	}
	err := w.Write(keys)
	for _, row := range t.Rows {
		var cells []string
		for i, value := range row {
			if !t.Columns[i].People {
				cells = append(cells, display.SanitizeLine(csvText(value)))
			}
		}
		err = errors.Join(err, w.Write(cells))
	}
	w.Flush()
	return errors.Join(err, w.Error())
}

// csvText returns a cell for programs: what people read shortened is whole, what is missing is "", and no text is a
// formula of a spreadsheet.
func csvText(value any) string {
	exact, ok := value.(interface{ ExactText() string })
	if ok {
		return exact.ExactText()
	}
	cell := FormatCell(value)
	_, isText := value.(string)
	switch {
	case cell == "-" && fmt.Sprint(value) != "-":
		return ""
	case isText && len(cell) > 1 && strings.ContainsAny(cell[:1], "=+@-"):
		return "'" + cell
	}
	return cell
}

package plaintext

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/server/display"
)

// WriteCSV writes all columns for programs, with keys in the first line.
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
				cells = append(cells, csvText(value))
			}
		}
		err = errors.Join(err, w.Write(cells))
	}
	w.Flush()
	return errors.Join(err, w.Error())
}

// csvText returns a cell for programs: whole, "" if missing, and never a formula, which a
// spreadsheet would execute.
func csvText(value any) string {
	cell := FormatCell(value)
	if exact, ok := value.(interface{ ExactText() string }); ok {
		cell = exact.ExactText()
	} else if cell == "-" && fmt.Sprint(value) != "-" {
		return ""
	}
	cell = display.SanitizeLine(cell)
	_, err := strconv.ParseFloat(cell, 64)
	begin, size := utf8.DecodeRuneInString(strings.TrimLeft(cell, " "))
	if err != nil && len(cell) > size && strings.ContainsRune(formulaBegins, begin) {
		return "'" + cell
	}
	return cell
}

// formulaBegins includes the characters of East Asian keyboards.
const formulaBegins = "=+-@＝＋－＠"

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
				cells = append(cells, csvText(value))
			}
		}
		err = errors.Join(err, w.Write(cells))
	}
	w.Flush()
	return errors.Join(err, w.Error())
}

// csvText returns a cell for programs: what people read shortened is whole, what is missing is "", and nothing but a
// number is a formula of a spreadsheet, which would run what a name or a message says.
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

// formulaBegins are the characters that begin a formula, with those of East Asian keyboards.
const formulaBegins = "=+-@＝＋－＠"

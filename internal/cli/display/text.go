package display

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// FormatProblems returns problems as text: location, object and sentence on one line, and the
// hint below. Adjacent problems with the same hint share it.
func FormatProblems(list problem.List, to *Stream) string {
	var b strings.Builder
	for i, p := range list {
		word := to.Paint(Red, "error: ")
		if p.Warning {
			word = to.Paint(Yellow, "warning: ")
		}
		fmt.Fprintf(&b, "%s%s\n", word, SanitizeLine(p.String()))
		if p.Hint != "" && (i == len(list)-1 || list[i+1].Hint != p.Hint) {
			b.WriteString(to.Paint(Dim, "  hint: "+SanitizeLine(p.Hint)) + "\n")
		}
	}
	return b.String()
}

// CountProblems returns the numbers of problems and warnings: "3 problems and 1 warning".
func CountProblems(problems, warnings int) string {
	switch {
	case problems == 0 && warnings == 0:
		return "no problems"
	case warnings == 0:
		return text.Count(problems, "problem")
	case problems == 0:
		return text.Count(warnings, "warning")
	}
	return text.Count(problems, "problem") + " and " + text.Count(warnings, "warning")
}

// FormatTable writes rows in columns that are as wide as they need to be.
func FormatTable(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(SanitizeLine(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = SanitizeLine(cell)
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

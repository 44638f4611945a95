package archtest

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/problem"
)

// pagePath is the page that this package enforces, and the two of its sections
// whose tables are read.
const (
	pagePath            = "docs/architecture.md"
	packagesSection     = "## The packages"
	dependenciesSection = "## Dependencies and why"
)

// together is the hint of all that checkPage finds.
const together = "the table and internal/archtest/rows.go go together"

// tableLine is one line of a table of the page, its cells without quotes.
type tableLine struct {
	line  int
	cells []string
}

// table gives the lines of the tables in a section. The cell whose index is
// quoted is in backquotes; a line where it is not belongs to a head.
func (s *source) table(section string, quoted int) []tableLine {
	var all []tableLine
	in := false
	for i, text := range strings.Split(string(s.page), "\n") {
		if strings.HasPrefix(text, "## ") {
			in = text == section
		}
		cells := strings.Split(strings.Trim(text, "| "), "|")
		if !in || !strings.HasPrefix(text, "|") || len(cells) <= quoted {
			continue
		}
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		if !strings.HasPrefix(cells[quoted], "`") {
			continue
		}
		cells[quoted] = strings.Trim(cells[quoted], "`")
		all = append(all, tableLine{line: i + 1, cells: cells})
	}
	return all
}

// checkPage reports where the page's table of packages does not say what rows
// and the source say: the order, the row, purity, and whether it exists today.
func checkPage(src *source) problem.List {
	var l problem.List
	lines := src.table(packagesSection, 1)
	for i, at := range src.places() {
		if i >= len(lines) {
			l.Addf(problem.Pos{File: pagePath}, "", together,
				"%q does not name %s", packagesSection, at.dir)
			continue
		}
		if want, got := at.describe(src), lines[i].describe(); want != got {
			l.Addf(problem.Pos{File: pagePath, Line: lines[i].line}, "", together,
				"the page says %q where it should say %q", got, want)
		}
	}
	for _, extra := range lines[min(len(lines), len(src.places())):] {
		l.Addf(problem.Pos{File: pagePath, Line: extra.line}, "", together,
			"%s is in no row", extra.cells[1])
	}
	return l
}

// describe says of a package what its line of the page should say.
func (p place) describe(src *source) string {
	purity, status := "", "planned"
	if p.pure {
		purity = "pure"
	}
	if src.lookup(p.dir) != nil {
		status = "here"
	}
	return fmt.Sprintf("%s, %s, %s, %s", p.name, p.dir, purity, status)
}

func (t tableLine) describe() string {
	if len(t.cells) < 4 {
		return strings.Join(t.cells, ", ")
	}
	return strings.Join(t.cells[:4], ", ")
}

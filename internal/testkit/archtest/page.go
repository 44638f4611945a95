package archtest

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// pagePath is the page that this package enforces, and the two of its sections
// whose tables are read.
const (
	pagePath            = "docs/architecture.md"
	packagesSection     = "## The packages"
	dependenciesSection = "## Dependencies and why"
)

// renew is the hint of all that checkPage finds.
const renew = "go test ./internal/testkit/archtest -update"

// tableLine is one line of a table of the page, its cells without quotes.
type tableLine struct {
	line  int
	text  string
	cells []string
}

// readTable returns the lines of the tables in a section. The cell whose index is
// quoted is in backquotes; a line where it is not belongs to a head.
func (s *source) readTable(section string, quoted int) []tableLine {
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
		all = append(all, tableLine{line: i + 1, text: text, cells: cells})
	}
	return all
}

// packageTable returns the page's table of packages: folders in the order of the picture,
// and of each package the first sentence of its comment.
func (s *source) packageTable() string {
	var b strings.Builder
	b.WriteString("| package | what it does |\n|---|---|\n")
	for level := range s.folders {
		for _, p := range s.packages {
			if s.folderIndex(p.dir) == level {
				fmt.Fprintf(&b, "| `%s` | %s |\n", p.dir, strings.ReplaceAll(p.synopsis(), "|", `\|`))
			}
		}
	}
	return b.String()
}

// checkPage reports where the page's table of packages is not the one that the
// source has.
func checkPage(src *source) problem.List {
	var l problem.List
	want := strings.Split(strings.TrimSuffix(src.packageTable(), "\n"), "\n")[2:]
	got := src.readTable(packagesSection, 0)
	for i, w := range want {
		switch {
		case i >= len(got):
			l.Addf(problem.Pos{File: pagePath}, "", renew, "%q lacks %s", packagesSection, w)
		case got[i].text != w:
			l.Addf(problem.Pos{File: pagePath, Line: got[i].line}, "", renew, "the page says %q where the source says %q", got[i].text, w)
		}
	}
	for _, extra := range got[min(len(got), len(want)):] {
		l.Addf(problem.Pos{File: pagePath, Line: extra.line}, "", renew, "there is no package %s", extra.cells[0])
	}
	return l
}

package explain

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

// How much of a list is shown.
const (
	maxRows  = 20
	maxNames = 10
)

// page is an answer being written for people.
type page struct{ b strings.Builder }

func (p *page) title(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// section begins a part of the answer.
func (p *page) section(format string, args ...any) {
	p.b.WriteByte('\n')
	p.title(format, args...)
}

func (p *page) line(depth int, text string) {
	p.b.WriteString(strings.TrimRight(strings.Repeat("  ", depth)+text, " ") + "\n")
}

// rows writes a table with aligned columns, of at most maxRows rows.
func (p *page) rows(depth int, rows [][]string) {
	more := len(rows) - maxRows
	if more > 0 {
		rows = rows[:maxRows]
	}
	p.table(depth, rows)
	p.more(depth, more)
}

func (p *page) more(depth, n int) {
	if n > 0 {
		p.line(depth, fmt.Sprintf("… and %d more", n))
	}
}

// table writes rows with aligned columns. The last cell of a row does not count
// for the width of its column.
func (p *page) table(depth int, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		p.line(depth, b.String())
	}
}

// group is objects with the same description.
type group struct {
	about string
	names []string
}

// grouped groups names by their description, in the order of the first of each group.
func grouped[T any](list []T, name, about func(T) string) []group {
	var groups []group
	at := map[string]int{}
	for _, item := range list {
		said := about(item)
		i, ok := at[said]
		if !ok {
			i = len(groups)
			at[said] = i
			groups = append(groups, group{about: said})
		}
		groups[i].names = append(groups[i].names, name(item))
	}
	return groups
}

// groups writes each group as a description and a line of names.
func (p *page) groups(depth int, groups []group) {
	more := len(groups) - maxRows
	for _, g := range groups[:min(len(groups), maxRows)] {
		p.line(depth, fmt.Sprintf("%s (%d)", g.about, len(g.names)))
		p.line(depth+1, nameList(g.names, maxNames))
	}
	p.more(depth, more)
}

// nameList returns names on one line, up to a limit.
func nameList(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s … and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

func objectNames(list []Object) []string {
	var names []string
	for _, o := range list {
		names = append(names, o.Name)
	}
	return names
}

func labelList(labels map[string]string) string {
	needs := values.NeedsOf(labels)
	if len(needs) == 0 {
		return "none"
	}
	var out []string
	for _, n := range needs {
		out = append(out, n.String())
	}
	return strings.Join(out, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

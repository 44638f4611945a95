package explain

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

// How much of a list is shown.
const (
	maxRows  = 20
	maxNames = 10
)

// page is an answer being written for people.
type page struct{ b strings.Builder }

func (p *page) writeTitle(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// writeSection begins a part of the answer.
func (p *page) writeSection(format string, args ...any) {
	p.b.WriteByte('\n')
	p.writeTitle(format, args...)
}

func (p *page) writeLine(depth int, text string) {
	p.b.WriteString(strings.TrimRight(strings.Repeat("  ", depth)+text, " ") + "\n")
}

// writeRows writes a table with aligned columns, of at most maxRows rows.
func (p *page) writeRows(depth int, rows [][]string) {
	p.writeTable(depth, rows[:min(len(rows), maxRows)])
	p.writeMore(depth, len(rows)-maxRows)
}

func (p *page) writeMore(depth, n int) {
	if n > 0 {
		p.writeLine(depth, fmt.Sprintf("… and %d more", n))
	}
}

// writeTable writes rows with aligned columns. The last cell of a row does not count
// for the width of its column.
func (p *page) writeTable(depth int, rows [][]string) {
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
		p.writeLine(depth, b.String())
	}
}

// nameGroup is objects with the same description.
type nameGroup struct {
	about string
	names []string
}

// groupNames groups names by their description, in the order of the first of each group.
func groupNames[T any](all []T, name, about func(T) string) []nameGroup {
	var groups []nameGroup
	at := map[string]int{}
	for _, item := range all {
		said := about(item)
		i, ok := at[said]
		if !ok {
			i = len(groups)
			at[said] = i
			groups = append(groups, nameGroup{about: said})
		}
		groups[i].names = append(groups[i].names, name(item))
	}
	return groups
}

// writeGroups writes each group as a description and a line of names.
func (p *page) writeGroups(depth int, groups []nameGroup) {
	for _, g := range groups[:min(len(groups), maxRows)] {
		p.writeLine(depth, fmt.Sprintf("%s (%d)", g.about, len(g.names)))
		p.writeLine(depth+1, nameList(g.names, maxNames))
	}
	p.writeMore(depth, len(groups)-maxRows)
}

// nameList returns names on one line, up to a limit.
func nameList(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s … and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}

func objectNames(all []Object) []string {
	return list.Convert(all, func(o Object) string { return o.Name })
}

func labelList(labels map[string]string) string {
	return cmp.Or(strings.Join(list.Convert(values.NeedsOf(labels), values.Need.String), ", "), "none")
}

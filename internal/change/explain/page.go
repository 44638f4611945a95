package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

const (
	maxRows  = 20
	maxNames = 10
)

type page struct{ document Document }

func (p *page) writeTitle(format string, args ...any) {
	p.document.Title = fmt.Sprintf(format, args...)
}

func (p *page) writeSection(format string, args ...any) {
	p.document.Sections = append(p.document.Sections, Section{Heading: fmt.Sprintf(format, args...)})
}

func (p *page) writeLine(depth int, text string) {
	p.writeTable(depth, [][]any{{text}})
}

func (p *page) writeRows(depth int, rows [][]any) {
	p.writeTable(depth, rows[:min(len(rows), maxRows)])
	p.writeMore(depth, len(rows)-maxRows)
}

func (p *page) writeMore(depth, n int) {
	if n > 0 {
		p.writeLine(depth, fmt.Sprintf("… and %d more", n))
	}
}

func (p *page) writeTable(depth int, rows [][]any) {
	if len(rows) == 0 {
		return
	}
	if len(p.document.Sections) == 0 {
		p.document.Sections = append(p.document.Sections, Section{})
	}
	last := &p.document.Sections[len(p.document.Sections)-1]
	last.Tables = append(last.Tables, Table{depth, list.Convert(rows, func(row []any) []Cell { return list.Convert(row, newCell) })})
}

type nameGroup struct {
	about string
	names []string
}

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

func (p *page) writeGroups(depth int, groups []nameGroup) {
	for _, g := range groups[:min(len(groups), maxRows)] {
		p.writeLine(depth, fmt.Sprintf("%s (%d)", g.about, len(g.names)))
		p.writeLine(depth+1, nameList(g.names, maxNames))
	}
	p.writeMore(depth, len(groups)-maxRows)
}

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

package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Text returns a human-readable answer, with long lists cut.
func (a Answer) Text() string { return a.Document().Text() }

// Document returns a human-readable answer, with long lists cut.
func (a Answer) Document() Document {
	p := &page{}
	switch {
	case a.Assignment != nil:
		a.Assignment.writePage(p, a.Environment)
	case a.File != nil:
		a.File.writePage(p, a.Environment)
	case a.ClusterType != nil:
		a.ClusterType.writePage(p, a.Environment)
	case a.Workload != nil:
		a.Workload.writePage(p, a.Environment)
	case a.Target != nil:
		a.Target.writePage(p, a.Environment)
	case a.Policy != nil:
		a.Policy.writePage(p, a.Environment)
	case a.Config != nil:
		a.Config.writePage(p, a.Environment)
	case a.Template != nil:
		a.Template.writePage(p, a.Environment)
	case a.Manifest != nil:
		a.Manifest.writePage(p, a.Environment)
	case a.Pool != nil:
		a.Pool.writePage(p, a.Environment)
	case a.Step != nil:
		a.Step.writePage(p, a.Environment)
	case a.Stack != nil:
		a.Stack.writePage(p, a.Environment)
	case a.StackObject != nil:
		a.StackObject.writePage(p, a.Environment)
	}
	return p.document
}

func (a *Assignment) writePage(p *page, env string) {
	state := "not assigned"
	if a.Assigned {
		state = "assigned"
	}
	p.writeTitle("%s/%s in environment %s: %s", a.ClusterType.Name, a.Target.Name, env, state)
	p.writeTable(1, [][]any{
		{"cluster type", a.ClusterType, a.ClusterType.At},
		{"target", a.Target, a.Target.At},
		{"workload", cmp.Or(a.Workload, "none"), ""},
		{"workspace", cmp.Or(a.Workspace, "none"), ""},
		{"namespace", a.Namespace},
	})
	writeVerdicts(p, a.Policies)
	writeChoices(p, a.Choices)
	writeValues(p, a.Assigned, a.Values)
	writeExclusions(p, a.Excluded)
	a.writeSchemas(p)
	a.writeDependencies(p)
	p.writeSection("files")
	p.writeTable(1, list.Convert(a.Files, func(m RenderedFile) []any { return append(m.tableRow(), m.WhyNot) }))
	if len(a.Sources) > 0 {
		p.writeSection("inside of its sources")
		for _, held := range a.Sources {
			p.writeLine(1, held.String())
		}
	}
}

func writeVerdicts(p *page, list []Verdict) {
	selected := 0
	var rows [][]any
	for _, v := range list {
		if v.Selected {
			selected++
			rows = append(rows, []any{"selects it", v.Policy, v.Policy.At})
			continue
		}
		var why []string
		if v.ClusterType != "" {
			why = append(why, "the cluster type "+v.ClusterType)
		}
		if v.Target != "" {
			why = append(why, "the target "+v.Target)
		}
		rows = append(rows, []any{"does not", v.Policy, v.Policy.At, strings.Join(why, "; ")})
	}
	p.writeSection("policies that select it: %d of %d", selected, len(list))
	p.writeRows(1, rows)
}

func writeValues(p *page, assigned bool, list []Value) {
	title := "values that it would have"
	if assigned {
		title = "values"
	}
	p.writeSection("%s: %s", title, text.Count(len(list), "key"))
	for _, v := range list {
		p.writeLine(1, v.Key+" = "+compactText(v.Value))
		var rows [][]any
		for _, s := range v.By {
			row := []any{string(s.Outcome), s.Config, s.Config.At, cmp.Or(strings.Join(s.Because, ", "), "for all")}
			if s.Outcome == Merged || s.Outcome == Replaced {
				row = append(row, compactText(s.Value))
			}
			rows = append(rows, row)
		}
		p.writeTable(2, rows)
	}
}

const maxLacks = 2

func writeExclusions(p *page, all []Exclusion) {
	if len(all) == 0 {
		return
	}
	p.writeSection("configs that do not apply: %d", len(all))
	p.writeRows(1, list.Convert(all, func(e Exclusion) []any {
		lacks := list.Convert(e.Lacks, func(l Lack) string { return fmt.Sprintf("needs %s, but %s", l.Needs, l.Has) })
		if more := len(lacks) - maxLacks; more > 0 {
			lacks = append(lacks[:maxLacks], fmt.Sprintf("and %d more", more))
		}
		return []any{e.Config, e.Config.At, nameList(e.Keys, 3), strings.Join(lacks, "; ")}
	}))
}

func (a *Assignment) writeSchemas(p *page) {
	if len(a.Schemas) == 0 {
		return
	}
	p.writeSection("schemas that check the values")
	for _, s := range a.Schemas {
		state := "satisfied"
		if len(s.Violations) > 0 {
			state = "not satisfied"
		}
		p.writeTable(1, [][]any{{s.Schema.cell(), s.Schema.At, state}})
		for _, v := range s.Violations {
			p.writeLine(2, v)
		}
	}
}

func (a *Assignment) writeDependencies(p *page) {
	if len(a.DependsOn) == 0 {
		return
	}
	p.writeSection("depends on")
	p.writeRows(1, list.Convert(a.DependsOn, func(d Dependency) []any {
		found := "nothing of that name is on this cluster type"
		if len(d.Targets) > 0 {
			found = "waits for " + nameList(objectNames(d.Targets), maxNames)
		}
		return []any{d.Name, d.At, found}
	}))
}

func (u TemplateUse) tableRow() []any {
	return []any{u.File, u.Template.cell(), locationCell(u.Template, u.BuiltIn), u.Field}
}

func locationCell(o Object, builtIn bool) Cell {
	if builtIn {
		return Cell{Text: o.At.String() + " (built-in)"}
	}
	return placeCell(o.At)
}

func (f *File) writePage(p *page, env string) {
	switch {
	case f.Exists:
		p.writeTitle("%s in environment %s", f.Path, env)
	case f.Stopped:
		p.writeTitle("%s in environment %s is not rendered now: %s", f.Path, env, f.WhyNot)
	default:
		p.writeTitle("%s in environment %s: there is no such file (%s)", f.Path, env, f.WhyNot)
	}
	if f.Rendered != nil {
		p.writeSection("template")
		p.writeTable(1, [][]any{f.Rendered.tableRow()})
		writeVerdicts(p, f.Policies)
	}
	writeReads(p, f.Reads)
}

func writeReads(p *page, all []Read) {
	if len(all) == 0 {
		return
	}
	p.writeSection("made from")
	p.writeTable(1, list.Convert(all, func(r Read) []any {
		return []any{r.Object.cell(), r.Object.At, nameList(r.What, maxNames)}
	}))
}

package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

func (c *ClusterType) writePage(p *page, env string) {
	p.writeTitle("%s in environment %s: %s", c.ClusterType.subject(), env, text.Count(len(c.Targets), "deployment target"))
	rows := [][]any{{"written at", c.ClusterType.At}, {"labels", labelList(c.Labels)}}
	if c.Taints != nil {
		rows = append(rows, []any{"taints", strings.Join(c.Taints, ", ")})
	}
	if c.Usage != nil {
		rows = append(rows, []any{"usage", strings.Join(c.Usage, ", ")})
	}
	p.writeTable(1, rows)
	p.writeSection("templates")
	p.writeTable(1, list.Convert(c.Templates, func(u TemplateUse) []any {
		missing := ""
		if u.Missing {
			missing = "there is no such template"
		}
		return append(u.tableRow(), missing)
	}))
	p.writeSection("policies that select the cluster type: %s", selectedOf(c.Policies))
	p.writeRows(1, selectionRows(c.Policies))
	p.writeSection("targets on it: %d", len(c.Targets))
	writePlacements(p, 1, c.Targets)
	p.writeSection("targets that are not on it: %d", len(c.Absent))
	writeAbsences(p, 1, "cluster type", c.Absent)
}

func (w *Workload) writePage(p *page, env string) {
	p.writeTitle("Workload/%s in environment %s: %s", w.Name, env, text.Count(len(w.Targets), "deployment target"))
	for _, t := range w.Targets[:min(len(w.Targets), maxRows)] {
		p.writeSection("%s  %s", t.Target.subject(), t.Target.At)
		p.writeLine(1, "policies that select it: "+selectedOf(t.Policies))
		if len(t.ClusterTypes) == 0 {
			p.writeRows(2, selectionRows(t.Policies))
		}
		p.writeLine(1, fmt.Sprintf("cluster types that it is on: %d", len(t.ClusterTypes)))
		writePlacements(p, 2, t.ClusterTypes)
		p.writeLine(1, fmt.Sprintf("cluster types that it is not on: %d", len(t.Absent)))
		writeAbsences(p, 2, "target", t.Absent)
	}
	p.writeMore(0, len(w.Targets)-maxRows)
}

func (t *Target) writePage(p *page, env string) {
	p.writeTitle("%s in environment %s: on %s", t.Target.subject(), env, text.Count(len(t.ClusterTypes), "cluster type"))
	rows := [][]any{
		{"written at", t.Target.At}, {"workload", cmp.Or(t.Workload, "none")}, {"workspace", cmp.Or(t.Workspace, "none")}, {"labels", labelList(t.Labels)},
	}
	if len(t.DependsOn) > 0 {
		rows = append(rows, []any{"depends on", nameList(t.DependsOn, maxNames)})
	}
	p.writeTable(1, rows)
	p.writeSection("policies that select it: %s", selectedOf(t.Policies))
	p.writeRows(1, selectionRows(t.Policies))
	p.writeSection("cluster types that it is on: %d", len(t.ClusterTypes))
	writePlacements(p, 1, t.ClusterTypes)
	p.writeSection("cluster types that it is not on: %d", len(t.Absent))
	writeAbsences(p, 1, "target", t.Absent)
}

func selectedOf(list []Selection) string {
	n := 0
	for _, s := range list {
		if s.Selected {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(list))
}

func selectionRows(all []Selection) [][]any {
	return list.Convert(all, func(s Selection) []any {
		verdict := "does not"
		if s.Selected {
			verdict = "selects it"
		}
		return []any{verdict, s.Policy, s.Policy.At, s.Reason}
	})
}

func writePlacements(p *page, depth int, list []Placement) {
	p.writeGroups(depth, groupNames(list,
		func(x Placement) string { return x.Object.Name },
		func(x Placement) string { return "by " + nameList(x.Policies, maxNames) }))
}

func writeAbsences(p *page, depth int, side string, list []Absence) {
	p.writeGroups(depth, groupNames(list,
		func(x Absence) string { return x.Object.Name },
		func(x Absence) string {
			if x.Policy == "" {
				return "no policy selects the " + side
			}
			return x.Policy + ": " + x.Reason
		}))
}

func (o *Policy) writePage(p *page, env string) {
	p.writeTitle("%s in environment %s: %s", o.Policy.subject(), env, text.Count(o.Assignments, "assignment"))
	rows := [][]any{{"written at", o.Policy.At}, {"cluster types", o.ClusterTypeSelector}, {"targets", o.TargetSelector}}
	if o.Workspace != "" {
		rows = append(rows, []any{"workspace", o.Workspace})
	}
	p.writeTable(1, rows)
	o.writeSide(p, "cluster type", o.ClusterTypes, o.OtherClusterTypes)
	o.writeSide(p, "deployment target", o.Targets, o.OtherTargets)
	if o.Units != nil {
		p.writeSection("chooses for %s", text.Count(len(o.Units), "unit"))
		p.writeRows(1, list.Convert(o.Units, func(u PlacedUnit) []any {
			return []any{u.Unit, formatPlaces(len(u.ClusterTypes), u.Pick), nameList(u.ClusterTypes, maxNames)}
		}))
	}
}

func (o *Policy) writeSide(p *page, side string, selected []Object, others []Absence) {
	p.writeSection("selects %s", text.Count(len(selected), side))
	if len(selected) > 0 {
		p.writeLine(1, nameList(objectNames(selected), maxNames))
	}
	if len(others) > 0 {
		p.writeSection("does not select %s", text.Count(len(others), side))
		p.writeGroups(1, groupNames(others, func(x Absence) string { return x.Object.Name }, func(x Absence) string { return x.Reason }))
	}
}

func (c *Config) writePage(p *page, env string) {
	use := "read by"
	if c.Config.Kind == "ConfigSchema" {
		use = "checks"
	}
	p.writeTitle("%s in environment %s: %s %s", c.Config.subject(), env, use, text.Count(c.Assignments, "assignment"))
	p.writeTable(1, [][]any{{"written at", c.Config.At}})
	for _, r := range c.Rules[:min(len(c.Rules), maxRows)] {
		r.writeSection(p)
	}
	p.writeMore(0, len(c.Rules)-maxRows)
	if len(c.ClusterTypes) == 0 {
		return
	}
	p.writeSection("cluster types: %d", len(c.ClusterTypes))
	p.writeRows(1, list.Convert(c.ClusterTypes, func(n AssignmentCount) []any {
		return []any{n.ClusterType, text.Count(n.Assignments, "assignment"), "as " + n.ClusterType + "/" + n.Example}
	}))
}

func (r *Rule) writeSection(p *page) {
	if len(r.Needs) == 0 {
		p.writeSection("for all: %s", text.Count(r.Assignments, "assignment"))
	} else {
		p.writeSection("for assignments with all of these labels: %d", r.Assignments)
	}
	p.writeTable(1, list.Convert(r.Needs, func(n Need) []any {
		return []any{n.Label, fmt.Sprintf("on %s, %s", text.Count(n.ClusterTypes, "cluster type"), text.Count(n.Targets, "deployment target")), n.Hint}
	}))
	if len(r.Keys) > 0 {
		p.writeLine(1, "keys")
		p.writeRows(2, list.Convert(r.Keys, func(k Key) []any { return []any{k.Key, k.At, compactText(k.Value)} }))
	}
}

func (t *Template) writePage(p *page, env string) {
	p.writeTitle("%s in environment %s: makes files of %s", t.Template.subject(), env, text.Count(t.Assignments, "assignment"))
	rows := [][]any{{"written at", locationCell(t.Template, t.BuiltIn)}, {"type", cmp.Or(t.Type, "none")}, {"engine", t.Engine}, {"reads", cmp.Or(strings.Join(t.Reads, ", "), "none")}}
	if t.Broken != "" {
		rows = append(rows, []any{"broken", t.Broken})
	}
	p.writeTable(1, rows)
	p.writeSection("cluster types that use it: %d", len(t.ClusterTypes))
	p.writeRows(1, list.Convert(t.ClusterTypes, func(u TemplateUser) []any {
		return []any{u.ClusterType, u.ClusterType.At, u.Field, text.Count(u.Assignments, "assignment")}
	}))
}

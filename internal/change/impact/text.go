package impact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// maxGroups bounds the groups that are shown; risky ones come first.
const maxGroups = 200

// Summary returns one line: what the change touches, and its kinds, the most frequent
// first and unclassified last.
func (r Report) Summary() string {
	if r.IsEmpty() {
		return "no change"
	}
	summary := strings.Join(r.groupCounts(), "; ")
	if r.ClusterTypes == 0 && r.Stacks == 0 {
		return summary
	}
	return r.scope() + "; " + summary
}

func (r Report) scope() string {
	var parts []string
	if r.ClusterTypes > 0 {
		parts = append(parts, text.Count(r.ClusterTypes, "cluster type"))
	}
	switch {
	case r.Workloads > 0:
		parts = append(parts, text.Count(r.Workloads, "workload"))
	case r.Targets > 0:
		parts = append(parts, text.Count(r.Targets, "deployment target"))
	}
	if r.Stacks > 0 {
		parts = append(parts, text.Count(r.Stacks, "stack"), text.Count(r.Components.Total(), "component"))
	}
	return strings.Join(parts, ", ")
}

// groupCounts counts files outside of cluster types only if nothing else changes.
func (r Report) groupCounts() []string {
	counts := map[string]int{}
	for _, g := range r.Groups {
		if g.ClusterTypes > 0 || g.Stacks > 0 || r.ClusterTypes == 0 && r.Stacks == 0 {
			counts[g.Name] += g.Count
		}
	}
	rank := func(name string) int {
		if name == string(Unclassified) {
			return 0
		}
		return counts[name]
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s: %d", name, counts[name])
	}
	return names
}

func (r Report) totals() string {
	counts := fmt.Sprintf("files: %s", r.Files)
	if r.Stacks > 0 {
		counts = fmt.Sprintf("components: %s; %s", r.Components, counts)
	}
	if r.ClusterTypes > 0 || r.Stacks == 0 {
		counts = fmt.Sprintf("assignments: %s; %s", r.Assignments, counts)
	}
	if r.Objects.Total() > 0 {
		counts += fmt.Sprintf("; objects inside of sources: %s", r.Objects)
	}
	if r.ClusterTypes == 0 && r.Stacks == 0 {
		return counts
	}
	return r.scope() + "; " + counts
}

// String returns the counts as "1 added, 2 changed, 3 removed".
func (c Counts) String() string {
	return fmt.Sprintf("%d added, %d changed, %d removed", c.Added, c.Changed, c.Removed)
}

const maxTextTitle = 100

// Text returns the report for a terminal. Groups that delete things begin with "!",
// unclassified ones with "?" and an example.
func (r Report) Text() string {
	var b strings.Builder
	if r.IsEmpty() {
		return r.Summary() + "\n"
	}
	b.WriteString(r.Title(maxTextTitle) + "\n")
	b.WriteString(r.totals() + "\n")
	if destroyed := r.destructionText(printableText); destroyed != "" {
		b.WriteString(destroyed + "\n")
	}
	for _, c := range r.StackChanges {
		b.WriteString(c.terminalText())
	}
	for _, c := range r.ClusterChanges {
		b.WriteString(c.terminalText())
	}
	for _, g := range r.Groups[:min(maxGroups, len(r.Groups))] {
		b.WriteString("\n" + g.terminalText())
	}
	if more := len(r.Groups) - maxGroups; more > 0 {
		fmt.Fprintf(&b, "\nand %d more groups\n", more)
	}
	return b.String()
}

const uncomparedText = "the content is in a chart, an artifact or another repository, and was not compared"

func (g Group) terminalText() string {
	var b strings.Builder
	mark := map[Risk]string{Deletes: "!", Unknown: "?"}[g.Risk]
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(mark+" "+g.headline()))
	for _, d := range g.Details {
		fmt.Fprintf(&b, "    %s\n", d)
	}
	for _, sentence := range g.uncomparedSentences() {
		fmt.Fprintf(&b, "    %s\n", visibleText(sentence))
	}
	fmt.Fprintf(&b, "    in %s\n", strings.Join(g.shownExamples(maxExamples, visibleText), ", "))
	if slices.Contains(g.Classes, Unclassified) {
		for l := range strings.Lines(g.Diff) {
			fmt.Fprintf(&b, "        %s\n", visibleText(l))
		}
	}
	return b.String()
}

func (g Group) headline() string {
	line := g.Name + ": " + text.Count(g.Count, string(g.Unit))
	if g.ClusterTypes > 0 && g.Unit != ClusterType {
		line += " on " + text.Count(g.ClusterTypes, "cluster type")
	}
	if g.Stacks > 0 && g.Unit != Stack {
		line += " in " + text.Count(g.Stacks, "stack")
	}
	if g.Risk == Deletes {
		line += ", deletes things on clusters"
	}
	return line
}

func (g Group) shownExamples(n int, show func(string) string) []string {
	texts := list.Convert(g.Examples[:min(n, len(g.Examples))], show)
	if more := g.Count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts
}

func visibleText(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && isInvisible(r) {
			return '�'
		}
		return r
	}, strings.TrimRight(line, "\r\n"))
}

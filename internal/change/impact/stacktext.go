package impact

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

const (
	maxStacks     = 5  // that are drawn
	maxDrawn      = 50 // components of a stack that is drawn
	maxComponents = 10
)

type stackLine struct {
	what    string
	deletes bool
	names   []string
}

func (c StackChange) lines() []stackLine {
	var all []stackLine
	add := func(what string, deletes bool, is func(ComponentChange) bool) {
		var names []string
		for _, one := range c.Components {
			if is(one) {
				names = append(names, one.Name)
			}
		}
		if more := len(names) - maxComponents; more > 0 {
			names = append(names[:maxComponents:maxComponents], text.Count(more, "more component"))
		}
		if len(names) > 0 {
			all = append(all, stackLine{what, deletes, names})
		}
	}
	for _, state := range []struct {
		what  string
		state ComponentState
	}{
		{"destroys as approved", ComponentApproved}, {"destroys", ComponentDestroyed}, {"uninstalls", ComponentUninstalled}, {"orphans, what they made stays", ComponentOrphaned}, {"removes, destroyed before", ComponentCleared},
		{"no longer destroys", ComponentKept}, {"installs again", ComponentReinstalled}, {"resumes, to be uninstalled by the next change", ComponentResumed},
		{"changes", ComponentChanged}, {"adds", ComponentAdded},
	} {
		add(state.what, state.state.isLost(), func(one ComponentChange) bool { return one.Change == state.state })
	}
	add("waits for approval", false, func(one ComponentChange) bool { return one.Waits })
	return all
}

func (c StackChange) terminalText() string {
	var b strings.Builder
	for _, l := range c.lines() {
		fmt.Fprintf(&b, "stack %s %s: %s\n", printableText(c.Stack), l.what, strings.Join(list.Convert(l.names, printableText), ", "))
	}
	return b.String()
}

// StacksMarkdown describes the first n stacks: destruction first, then waiting
// approvals and the graph.
func (r Report) StacksMarkdown(n int) string {
	var b strings.Builder
	for i, c := range r.StackChanges {
		if i == n {
			fmt.Fprintf(&b, "\n%s\n", text.Count(len(r.StackChanges)-n, "more stack"))
			break
		}
		fmt.Fprintf(&b, "\n### Stack %s\n\n", codeSpan(c.Stack))
		c.writeLines(&b)
		if len(c.Components) <= maxDrawn {
			fmt.Fprintf(&b, "\n```mermaid\n%s```\n", c.mermaidText())
		}
	}
	return b.String()
}

func (c StackChange) writeLines(b *strings.Builder) {
	for _, l := range c.lines() {
		what := strings.ToUpper(l.what[:1]) + l.what[1:]
		if l.deletes {
			what = "**" + what + "**"
		}
		fmt.Fprintf(b, "- %s: %s\n", what, strings.Join(list.Convert(l.names, codeSpan), ", "))
	}
}

func (c StackChange) mermaidText() string {
	var graph stackfiles.Summary
	states := map[string]ComponentChange{}
	for _, one := range c.Components {
		states[one.Name] = one
		graph.Components = append(graph.Components, stackfiles.ComponentSummary{Name: one.Name, After: one.After})
	}
	return graph.MermaidGraph(func(s stackfiles.ComponentSummary) string {
		one := states[s.Name]
		label := strings.Map(replaceUnlabeled, s.Name)
		if one.Change != "" {
			label += ": " + string(one.Change)
		}
		if one.Waits {
			label += ", waits for approval"
		}
		return label
	})
}

func replaceUnlabeled(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
		return r
	}
	return '�'
}

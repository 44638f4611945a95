package display

import (
	"regexp"
	"strings"
)

var (
	graphNode = regexp.MustCompile(`^\s*(\w+)\["(.*)"\]$`)
	graphEdge = regexp.MustCompile(`^\s*(\w+) --> (\w+)$`)
	graphKey  = regexp.MustCompile(`^(\d+)\. `)
)

// formatMermaid returns a graph of Fairlead's as a line per node, with the preceding nodes. For
// another diagram it returns a note.
func formatMermaid(lines []string) string {
	labels, before := map[string]string{}, map[string][]string{}
	var order []string
	for _, line := range lines {
		if m := graphNode.FindStringSubmatch(line); m != nil {
			if _, known := labels[m[1]]; !known {
				order = append(order, m[1])
			}
			labels[m[1]] = m[2]
		}
		if m := graphEdge.FindStringSubmatch(line); m != nil {
			before[m[2]] = append(before[m[2]], m[1])
		}
	}
	if len(order) == 0 {
		return "(a diagram, which the page of a forge draws)\n"
	}
	var b strings.Builder
	for _, id := range order {
		b.WriteString(labels[id])
		var after []string
		for _, other := range before[id] {
			if label, known := labels[other]; known {
				after = append(after, shortLabel(label))
			}
		}
		if len(after) > 0 {
			b.WriteString(" (after " + strings.Join(after, ", ") + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func shortLabel(label string) string {
	if m := graphKey.FindStringSubmatch(label); m != nil {
		return m[1]
	}
	name, _, _ := strings.Cut(label, ": ")
	return name
}

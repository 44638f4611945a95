package provision

import (
	"fmt"
	"strings"
)

// Text returns the plan for a terminal, one line for each step.
func (p Plan) Text() string {
	var b strings.Builder
	cluster := ""
	for i, s := range p.Steps {
		if s.Cluster != cluster || i == 0 {
			cluster = s.Cluster
			fmt.Fprintf(&b, "%s\n", s.heading())
		}
		fmt.Fprintf(&b, "  %d. %s [%s]\n", i+1, s.Sentence(), s.marks())
		for _, c := range s.Reason {
			fmt.Fprintf(&b, "       %s\n", c)
		}
	}
	return b.String()
}

func (s Step) heading() string {
	if s.Cluster == "" {
		return "manifest"
	}
	return "cluster " + s.Cluster
}

func (s Step) marks() string {
	marks := []string{string(s.Phase)}
	if s.Disruption != NoDisruption {
		marks = append(marks, string(s.Disruption))
	}
	if !s.Reversible {
		marks = append(marks, "not reversible")
	}
	return strings.Join(marks, ", ")
}

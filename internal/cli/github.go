package cli

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/problem"
)

// annotations writes problems as workflow commands of GitHub Actions; fileOf gives
// the path that a workflow's checkout has.
func annotations(r checkReport, fileOf func(problem.Pos) string) string {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	var b strings.Builder
	for _, p := range r.Problems {
		var properties []string
		if file := fileOf(p.Pos); file != "" {
			properties = append(properties, "file="+property.Replace(file))
			if p.Pos.Line > 0 {
				properties = append(properties, fmt.Sprintf("line=%d", p.Pos.Line))
			}
		}
		if p.Subject != "" {
			properties = append(properties, "title="+property.Replace(visible(p.Subject)))
		}
		command := strings.TrimRight(level(p.Problem)+" "+strings.Join(properties, ","), " ")
		fmt.Fprintf(&b, "::%s::%s\n", command, message.Replace(r.sentence(p)))
	}
	return b.String()
}

// level is what both GitHub and SARIF call a problem.
func level(p problem.Problem) string {
	if p.Warning {
		return "warning"
	}
	return "error"
}

// sentence gives what is wrong, where, in which environments if not in all, and what
// to do.
func (r checkReport) sentence(p foundProblem) string {
	text := visible(p.Summary)
	if place := p.Pos.String(); place != "" {
		text += " (" + visible(place) + ")"
	}
	if r.ofSome(p) {
		text += "\nin " + enumerate(p.Environments, "and")
	}
	if p.Hint != "" {
		text += "\n" + visible(p.Hint)
	}
	return text
}

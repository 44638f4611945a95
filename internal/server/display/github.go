package display

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// EnvironmentProblem is a problem and the environments that have it.
type EnvironmentProblem struct {
	problem.Problem
	Environments []string `json:"environments,omitempty"`
}

// InSome reports whether some but not all environments have the problem.
func (p EnvironmentProblem) InSome(environments int) bool {
	return len(p.Environments) > 0 && len(p.Environments) < environments
}

// Report is the problems of several environments, without duplicates.
type Report struct {
	Environments int
	Problems     []EnvironmentProblem
	// FileOf returns a file's path in the checkout, or "".
	FileOf func(problem.Pos) string
}

// GitHub writes problems as GitHub Actions workflow commands.
func (r Report) GitHub() string {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	var b strings.Builder
	for _, p := range r.Problems {
		var properties []string
		if file := r.FileOf(p.Pos); file != "" {
			properties = append(properties, "file="+property.Replace(file))
			if p.Pos.Line > 0 {
				properties = append(properties, fmt.Sprintf("line=%d", p.Pos.Line))
			}
		}
		if p.Subject != "" {
			properties = append(properties, "title="+property.Replace(SanitizeLine(p.Subject)))
		}
		command := strings.TrimRight(severityWord(p.Problem)+" "+strings.Join(properties, ","), " ")
		fmt.Fprintf(&b, "::%s::%s\n", command, message.Replace(r.messageText(p)))
	}
	return b.String()
}

func severityWord(p problem.Problem) string {
	if p.Warning {
		return "warning"
	}
	return "error"
}

func (r Report) messageText(p EnvironmentProblem) string {
	message := SanitizeLine(p.Summary)
	if place := p.Pos.String(); place != "" {
		message += " (" + SanitizeLine(place) + ")"
	}
	if p.InSome(r.Environments) {
		message += "\nin " + text.Join(p.Environments, " and ")
	}
	if p.Hint != "" {
		message += "\n" + SanitizeLine(p.Hint)
	}
	return message
}

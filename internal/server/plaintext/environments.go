package plaintext

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// FormatEnvironments returns a line for each environment's output.
func FormatEnvironments(all []status.Environment, to *display.Stream) string {
	return formatEnvironments(list.Convert(all, func(e status.Environment) environmentLine { return environmentLine{e, e.StateWord(), ""} }), to)
}

func formatSituations(a answer.Environments, to *display.Stream) string {
	return formatEnvironments(list.Convert(a.Situations, func(s answer.Environment) environmentLine {
		line := environmentLine{status.Environment{Name: s.Name}, s.State.Word, s.Reason}
		i := slices.IndexFunc(a.Reports, func(e status.Environment) bool { return e.Name == s.Name })
		if i >= 0 {
			line.Environment = a.Reports[i]
		}
		if line.word == line.StateWord() {
			line.reason = ""
		}
		return line
	}), to)
}

type environmentLine struct {
	status.Environment
	word, reason string
}

func formatEnvironments(all []environmentLine, to *display.Stream) string {
	rows, off := [][]string{}, false
	for _, e := range all {
		pull, says := "-", e.Change
		if p := e.ShownPull(); p != nil {
			pull = cmp.Or(p.URL, fmt.Sprint(p.Number))
		}
		if says == "" || e.State != status.Proposed && e.State != status.DryRun {
			says = cmp.Or(e.reason, e.Reason, e.EmptyReason())
		} else if e.Teardowns != "" {
			says += "; " + e.Teardowns
		}
		for _, r := range e.Removals {
			says += "; " + r.String()
		}
		off = off || e.State == status.DryRun
		rows = append(rows, []string{e.Name, e.word, pull, says})
	}
	if len(rows) == 0 {
		return "the control plane has no environments\n"
	}
	text := to.FormatTable([]display.Column{{Heading: "ENVIRONMENT"}, {Heading: "STATE"}, {Heading: "PULL REQUEST"}, {Fit: display.Wrap}}, rows)
	if off {
		text += "Writing is off: nothing was pushed. With write: true in the settings it will be.\n"
	}
	return text
}

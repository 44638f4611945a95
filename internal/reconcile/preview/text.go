package preview

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/forge"
)

const (
	// maxComment bounds a comment, in bytes; all forges take more.
	maxComment = 50_000
	// maxProblems bounds the problems that are listed for one environment.
	maxProblems = 20
)

// commentText is the comment on a pull request of the control plane.
func commentText(all []environmentPreview, before, after string) string {
	var b strings.Builder
	b.WriteString("**What merging this means**, once it is promoted to each environment:\n")
	for _, p := range all {
		fmt.Fprintf(&b, "\n### %s\n\n", forge.EscapeMarkdown(p.environment))
		switch {
		case p.stops:
			b.WriteString("Problems stop it; its output would stay as it is.\n")
		case p.report.IsEmpty():
			b.WriteString("Nothing changes.\n")
		default:
			b.WriteString(strings.TrimSpace(p.report.Markdown(maxComment/len(all))) + "\n")
		}
		writeExceeding(&b, p)
		writeProblems(&b, p.listed)
		if n := len(p.problems) - len(p.listed); n > 0 {
			fmt.Fprintf(&b, "\n%s at the lines of this change\n", text.Count(n, "remark"))
		}
	}
	fmt.Fprintf(&b, "\n`fairlead diff %s %s` says the same in a clone of the control plane.\n", before[:min(12, len(before))], after[:min(12, len(after))])
	return b.String()
}

func writeProblems(b *strings.Builder, problems problem.List) {
	for i, p := range problems {
		if i == 0 {
			b.WriteString("\n")
		}
		if i == maxProblems {
			fmt.Fprintf(b, "- and %d more\n", len(problems)-i)
			return
		}
		word := "problem"
		if p.Warning {
			word = "warning"
		}
		fmt.Fprintf(b, "- %s: %s", word, forge.EscapeMarkdown(p.String()))
		if p.Hint != "" {
			fmt.Fprintf(b, " (%s)", forge.EscapeMarkdown(p.Hint))
		}
		b.WriteString("\n")
	}
}

// commitStatus is the status of a pull request's commit: it fails if the change
// brings a problem, and not for those that are there anyway.
func commitStatus(all []environmentPreview) forge.Status {
	s := forge.Status{Context: statusContext, Outcome: forge.Success}
	changed, stopped := 0, 0
	for _, p := range all {
		n, _ := p.problems.Count()
		stopped += n
		if !p.report.IsEmpty() {
			changed++
		}
	}
	switch {
	case stopped > 0:
		s.Outcome = forge.Failure
		s.Description = text.Count(stopped, "problem") + " would come with it"
	case changed == 0:
		s.Description = "Nothing that is rendered changes"
	default:
		s.Description = fmt.Sprintf("Changes the output of %s", text.Count(changed, "environment"))
	}
	return s
}

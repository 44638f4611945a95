package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/forge"
)

const (
	// maxComment limits a comment, in bytes; all forges allow more.
	maxComment = 50_000
	// maxProblems limits the listed problems, and maxProblem the bytes of one.
	maxProblems, maxProblem = 20, 400
	maxNamed                = 5
)

func commentText(branch targetBranch, all []environmentPreview, before, after string) string {
	var b strings.Builder
	writeRemovals(&b, all)
	b.WriteString("**What merging this means**, once it is promoted to each environment:\n")
	writeProblems(&b, all)
	moves := maxMoves
	for _, p := range all {
		fmt.Fprintf(&b, "\n### %s\n\n", forge.EscapeMarkdown(p.environment))
		switch {
		case p.stops:
			b.WriteString("Problems stop it; its output would stay as it is.\n")
		case p.mended:
			b.WriteString("Problems stop it now. Without them, the pull request of its output says what changes.\n")
		case p.report.IsEmpty():
			b.WriteString("Nothing changes.\n")
		default:
			b.WriteString(strings.TrimSpace(p.report.Markdown(maxComment/len(all))) + "\n")
		}
		if n := len(p.stopped); !p.stops && n > 0 {
			fmt.Fprintf(&b, "\nStopped by problems, and would stay as it is: %s", forge.EscapeMarkdown(text.Join(p.stopped[:min(n, maxNamed)], ", ")))
			if n > maxNamed {
				fmt.Fprintf(&b, " and %d more", n-maxNamed)
			}
			b.WriteString("\n")
		}
		moves = writePlaces(&b, p.places, moves)
		writeExceeding(&b, p)
	}
	fmt.Fprintf(&b, "\nThe same in a clone of the control plane: `%s`\n", branch.diffCommand(before, after))
	return b.String()
}

const maxMoves = 20

// writePlaces writes moves of units, and units with too few places. It returns how many moves may
// still be listed.
func writePlaces(b *strings.Builder, c schedule.Comparison, left int) int {
	if len(c.Changes) == 0 {
		return left
	}
	fmt.Fprintf(b, "\n**Places that policies choose**: %s\n\n", c.Summary())
	for i, change := range c.Changes {
		for _, m := range change.Moves {
			if left == 0 {
				fmt.Fprintf(b, "- and more, of %s\n", text.Count(len(c.Changes)-i, "unit"))
				return 0
			}
			left--
			line := change.Unit.Policy.Name + "/" + change.Unit.Name + ": " + change.DescribeMove(m)
			if m.Reason != "" {
				line += " (" + m.Reason + ")"
			}
			fmt.Fprintf(b, "- %s\n", forge.EscapeMarkdown(text.Shorten(line, maxProblem)))
		}
		if change.Unit.IsShort() {
			obstacles := schedule.CountObstacles(c.After.Candidates(change.Unit)).String()
			fmt.Fprintf(b, "  - %s\n", forge.EscapeMarkdown(text.Shorten(obstacles, maxProblem)))
		}
	}
	return left
}

func (b targetBranch) diffCommand(before, after string) string {
	prefix := ""
	if !b.base {
		prefix = b.environments[0] + "@"
	}
	return fmt.Sprintf("fairlead diff %s %s", text.QuoteShell(prefix+before[:min(12, len(before))]), text.QuoteShell(prefix+after[:min(12, len(after))]))
}

const maxRemovals = 20

func removing(all []environmentPreview) []environmentPreview {
	return slices.DeleteFunc(slices.Clone(all), func(p environmentPreview) bool { return !p.report.Deletes() })
}

func writeRemovals(b *strings.Builder, all []environmentPreview) {
	found := removing(all)
	if len(found) == 0 {
		return
	}
	b.WriteString("> [!CAUTION]\n> Merging this deletes things on clusters:\n")
	for _, p := range found[:min(maxRemovals, len(found))] {
		fmt.Fprintf(b, "> - %s: %s\n", forge.EscapeMarkdown(p.environment), forge.EscapeMarkdown(p.report.Title(maxTitle)))
	}
	if more := len(found) - maxRemovals; more > 0 {
		fmt.Fprintf(b, "> - and in %s\n", text.Count(more, "more environment"))
	}
	b.WriteString("\n")
}

// Limits of a change in one line and of a status, in characters.
const maxTitle, maxDescription = 72, 140

func shareProblems(all []environmentPreview, listed func(environmentPreview) problem.List) []problem.Shared {
	var found problem.Sharing
	for _, p := range all {
		found.Add(p.environment, listed(p))
	}
	return found.Sorted()
}

// writeProblems writes each problem once. Warnings are folded, because most follow from a problem.
func writeProblems(b *strings.Builder, all []environmentPreview) {
	var problems, warnings []problem.Shared
	for _, p := range shareProblems(all, func(p environmentPreview) problem.List { return p.listed }) {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			problems = append(problems, p)
		}
	}
	if len(problems) > 0 {
		fmt.Fprintf(b, "\n### %s\n\n", text.Count(len(problems), "problem"))
		writeShared(b, problems, len(all))
	}
	total := len(shareProblems(all, func(p environmentPreview) problem.List { return p.problems }))
	if n := total - len(problems) - len(warnings); n > 0 {
		fmt.Fprintf(b, "\n%s at the lines of this change\n", text.Count(n, "remark"))
	}
	if len(warnings) > 0 {
		fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", text.Count(len(warnings), "warning"))
		writeShared(b, warnings, len(all))
		b.WriteString("\n</details>\n")
	}
}

func writeShared(b *strings.Builder, problems []problem.Shared, environments int) {
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(b, "- and %d more\n", len(problems)-i)
			return
		}
		fmt.Fprintf(b, "- %s", forge.EscapeMarkdown(text.Shorten(p.String(), maxProblem)))
		if p.Hint != "" {
			fmt.Fprintf(b, " (%s)", forge.EscapeMarkdown(text.Shorten(p.Hint, maxProblem)))
		}
		if n := len(p.Environments); n < environments {
			fmt.Fprintf(b, " — in %s", forge.EscapeMarkdown(text.Join(p.Environments[:min(n, maxNamed)], ", ")))
			if n > maxNamed {
				fmt.Fprintf(b, " and %d more", n-maxNamed)
			}
		}
		b.WriteString("\n")
	}
}

// commitStatus fails if the change adds a problem, and mentions removals.
func commitStatus(all []environmentPreview) forge.Status {
	s := forge.Status{Context: statusContext, Outcome: forge.Success}
	changed, stopped := 0, 0
	for _, p := range shareProblems(all, func(p environmentPreview) problem.List { return p.problems }) {
		if !p.Warning {
			stopped++
		}
	}
	for _, p := range all {
		if !p.report.IsEmpty() {
			changed++
		}
	}
	removes := removing(all)
	switch {
	case stopped > 0:
		s.Outcome = forge.Failure
		s.Description = text.Count(stopped, "problem") + " would come with it"
	case len(removes) > 0:
		s.Description = fmt.Sprintf("%s: %s", removes[0].environment, removes[0].report.Title(maxTitle))
		if more := len(removes) - 1; more > 0 {
			s.Description += fmt.Sprintf(" (and in %s)", text.Count(more, "more environment"))
		}
	case changed == 0 && slices.ContainsFunc(all, func(p environmentPreview) bool { return p.mended }):
		s.Description = "No problem stops the environment any more"
	case changed == 0:
		s.Description = "Nothing that is rendered changes"
	default:
		s.Description = fmt.Sprintf("Changes the output of %s", text.Count(changed, "environment"))
	}
	s.Description = text.Limit(s.Description, maxDescription)
	return s
}

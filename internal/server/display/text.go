package display

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// MaxFollowUps bounds the warnings next to errors, which cause most of them.
const MaxFollowUps = 5

// FoldFollowUps drops excess warnings of a sorted list with errors, and returns a line that counts
// them and ends with seen; "" if none.
func FoldFollowUps[L ~[]P, P any](sorted L, isWarning func(P) bool, seen string, to *Stream) (shown L, folded string) {
	stops := slices.IndexFunc(sorted, isWarning)
	if stops <= 0 || len(sorted)-stops <= MaxFollowUps {
		return sorted, ""
	}
	more := text.Count(len(sorted)-stops-MaxFollowUps, "more warning")
	return sorted[:stops+MaxFollowUps], to.Paint(Yellow, "warning: ") + more + ", which may follow from the errors above: fix those first" + seen + "\n"
}

// FormatProblems returns a line for each problem, and hints below. Adjacent problems share an equal
// hint.
func FormatProblems(list problem.List, to *Stream) string {
	var b strings.Builder
	for i, p := range list {
		kind := to.Paint(Red, "error: ")
		if p.Warning {
			kind = to.Paint(Yellow, "warning: ")
		}
		fmt.Fprintf(&b, "%s%s\n", kind, SanitizeLine(p.String()))
		if p.Hint != "" && (i == len(list)-1 || list[i+1].Hint != p.Hint) {
			b.WriteString(to.Paint(Dim, "  hint: "+SanitizeLine(p.Hint)) + "\n")
		}
	}
	return b.String()
}

// CountProblems returns the counts as "3 problems and 1 warning".
func CountProblems(problems, warnings int) string {
	switch {
	case problems == 0 && warnings == 0:
		return "no problems"
	case warnings == 0:
		return text.Count(problems, "problem")
	case problems == 0:
		return text.Count(warnings, "warning")
	}
	return text.Count(problems, "problem") + " and " + text.Count(warnings, "warning")
}

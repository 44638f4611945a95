package display

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// MaxFollowUps bounds the warnings that are shown beside errors: most of them follow from those.
const MaxFollowUps = 5

// FoldFollowUps returns a sorted list of problems without the warnings that are too many to be shown
// beside its errors, and a line that counts those and ends with how to see them; "" if there are none.
func FoldFollowUps[L ~[]P, P any](sorted L, isWarning func(P) bool, seen string, to *Stream) (shown L, folded string) {
	stops := slices.IndexFunc(sorted, isWarning)
	if stops <= 0 || len(sorted)-stops <= MaxFollowUps {
		return sorted, ""
	}
	more := text.Count(len(sorted)-stops-MaxFollowUps, "more warning")
	return sorted[:stops+MaxFollowUps], to.Paint(Yellow, "warning: ") + more + ", which may follow from the errors above: fix those first" + seen + "\n"
}

// FormatProblems returns problems as text: location, object and sentence on one line, and the
// hint below. Adjacent problems with the same hint share it.
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

// CountProblems returns the numbers of problems and warnings: "3 problems and 1 warning".
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

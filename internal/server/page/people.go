package page

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// Refused is the page of what is refused.
type Refused struct{ Error, Hint string }

// splitLines returns the lines of a text.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// NeedLevers returns what the reader may do about what an environment needs.
func (v overviewView) NeedLevers(n needView) []LeverLink {
	helps := []string{"approve"}
	if n.State.Tone == answer.Bad {
		helps = []string{"rollback", "hold"}
	}
	if n.State.Tone == answer.Stopped {
		return nil
	}
	var all []LeverLink
	for _, name := range helps {
		for _, l := range v.Levers[n.Environment] {
			if l.Lever == name && l.Allowed {
				all = append(all, l)
			}
		}
	}
	return slices.Clip(all)
}

package page

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// Environments is the page of environments: the answer, and how it was asked for.
type Environments struct {
	answer.Environments
	Filter  answer.EnvironmentFilter
	HasPast bool // whether the page has a past
}

// StateChoices returns the states that may be asked for.
func (v Environments) StateChoices() []choice { return toneChoices(v.Filter.State) }

func toneChoices(asked string) []choice {
	return withAsked(choicesOf(list.Convert(answer.AllTones(), func(t answer.Tone) string { return string(t) }), asked), asked)
}

func withAsked(all []choice, asked string) []choice {
	if asked == "" || slices.ContainsFunc(all, func(c choice) bool { return c.Selected }) {
		return all
	}
	return append(all, choice{asked, asked, true})
}

func countUnrendered(all []answer.Commit) (n int) {
	for _, c := range all {
		if c.Unrendered {
			n++
		}
	}
	return n
}

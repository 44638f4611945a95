package page

import "github.com/fairlead-io/fairlead/internal/server/answer"

// Environments is the page of environments: the answer, and how it was asked for.
type Environments struct {
	answer.Environments
	Filter  answer.EnvironmentFilter
	HasPast bool // whether the page has a past
}

// Tones returns what environments may be selected by.
func (Environments) Tones() []answer.Tone { return answer.AllTones() }

// countUnrendered returns how many of some commits change nothing that is rendered.
func countUnrendered(all []answer.Commit) (n int) {
	for _, c := range all {
		if c.Unrendered {
			n++
		}
	}
	return n
}

package page

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// pullView is the data of pull.html.
type pullView struct {
	answer.PullImpact
	Levers []LeverLink // those of the environment
}

// LeverList returns what the reader may do with the pull request, while it is open or may be opened again.
func (v pullView) LeverList() leverList {
	shown := leverList{Environment: v.Environment}
	for _, l := range v.Levers {
		if v.Ended == "" && slices.Contains(pullLevers, l.Lever) {
			shown.Levers = append(shown.Levers, l)
		}
	}
	return shown
}

// Changes returns what the pull request changes; nil if that is not known.
func (v pullView) Changes() *changesView {
	if v.PullImpact.Changes == nil {
		return nil
	}
	shown := &changesView{PullChanges: *v.PullImpact.Changes}
	for _, g := range v.PullImpact.Changes.Groups {
		shown.Groups = append(shown.Groups, groupView{g})
	}
	return shown
}

// HasMap reports whether the map shows the pull request: while it is open.
func (v pullView) HasMap() bool {
	return v.Ended == "" && v.PullImpact.Changes != nil && v.PullImpact.Changes.Assignments.Total() > 0
}

// outputChangesView is the data of changes.html.
type outputChangesView struct{ answer.OutputChanges }

// Impact returns the changes as those of a pull request that was merged.
func (v outputChangesView) Impact() pullView {
	return pullView{PullImpact: answer.PullImpact{Environment: v.Environment, Ended: "merged", Changes: v.Changes, Text: v.Text}}
}

// changesView is what a pull request changes.
type changesView struct {
	answer.PullChanges
	Groups []groupView
}

// groupView is one change.
type groupView struct{ answer.PullGroup }

// MoreExamples returns how many places are not named.
func (g groupView) MoreExamples() int { return max(0, g.Count-len(g.Examples)) }

type diffLine struct{ Kind, Text string }

// Lines returns the lines of the change.
func (g groupView) Lines() (all []diffLine) {
	for line := range strings.Lines(g.Diff) {
		line = strings.TrimRight(line, "\r\n")
		all = append(all, diffLine{line[:min(1, len(line))], line})
	}
	return all
}

func riskState(risk string) *answer.State {
	switch risk {
	case string(impact.Deletes):
		return &answer.State{Tone: answer.Bad, Word: risk}
	case string(impact.Unknown):
		return &answer.State{Tone: answer.Unknown, Word: risk}
	}
	return nil
}

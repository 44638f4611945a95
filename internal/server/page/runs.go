package page

import (
	"net/url"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// runView is the data of run.html.
type runView struct {
	answer.StackRun
	// Approve is the lever for the plan; nil where the page is only read.
	Approve *LeverLink
}

func newRunView(a answer.StackRun, f Frame) runView {
	return runView{a, stackView{Levers: f.StackLevers[a.Environment]}.Lever("approve-plan")}
}

// ApprovePath returns the address of the lever that approves this plan, and no other.
func (v runView) ApprovePath() string {
	path := leverPath("approve-plan", answer.Need{Environment: v.Environment, Stack: v.Stack, Component: v.Component.Name, Inputs: v.Inputs})
	if v.Component.Compared {
		path += "&" + url.Values{"digest": {v.Digest}}.Encode()
	}
	return path
}

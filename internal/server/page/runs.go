package page

import (
	"fmt"
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
	path := leverPath("approve-plan", answer.Need{Environment: v.Environment, Stack: v.Stack, Component: v.Component.Name, Inputs: v.Component.Inputs})
	if v.Component.Compared {
		path += "&" + url.Values{"digest": {v.Digest}}.Encode()
	}
	return path
}

// runPath returns the address of the page of a plan, from the root of the site.
func runPath(environment, stack, id string) string {
	team, name := splitStack(stack)
	return "stacks/" + team + "/" + name + "/runs/" + url.PathEscape(id) + "?" + url.Values{"env": {environment}}.Encode()
}

// planCounts returns what a plan does, in short.
func planCounts(r answer.RunPart) string {
	return fmt.Sprintf("+%d ~%d −%d", r.Add, r.Change, r.Destroy)
}
